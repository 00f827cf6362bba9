package corpus

// Kind is the type of a value.
type Kind uint8

// The kinds of value. Bool to Bytes are scalars; Array and Object nest.
const (
	Bool     Kind = iota + 1
	Int           // int64
	Float         // float64 that always holds a number a float32 holds exactly
	Decimal       // int64 in units of 10⁻⁴
	String        // UTF-8 text
	UUID          // 16 bytes
	DateTime      // whole seconds since the Unix epoch, UTC
	Bytes         // raw bytes
	Array         // a fixed number of elements, each with its own generator
	Object        // members sorted by name
	Vector        // float32 components
)

var kindNames = [...]string{
	Bool: "bool", Int: "int", Float: "float", Decimal: "decimal", String: "string", UUID: "uuid",
	DateTime: "datetime", Bytes: "bytes", Array: "array", Object: "object", Vector: "vector",
}

// String returns the kind's name as the value grammar spells it, e.g. "int".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown"
}
