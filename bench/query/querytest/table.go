package querytest

// Table returns a value table with every kind of column, small ranges for many ties and matches, and texts that collide.
func Table() map[string]any {
	return map[string]any{
		"active": "bool", "number": "int:1..50", "integer": "int", "score": "float:0..100", "grade": "float_enum:0,0.5,1,2.25", "price": "decimal:-5..20",
		"name": "string:0..4", "city": "string_enum:london,paris,new york", "request_id": "uuid", "created_at": "datetime", "raw": "bytes:0..3",
		"words":  "words:30;hello,world,foo,bar-baz,été",
		"tags":   []any{"string_enum:alpha,beta,gamma", "string_enum:gamma,delta"},
		"levels": []any{"int:0..5", "int:3..8"},
		"mixed":  []any{"int", "bool"}, "nested": []any{[]any{"int"}},
		"place":  map[string]any{"code": "string:1", "dotted.name": "int:0..3", "deep": map[string]any{"level": "int_enum:1,2,3"}},
		"vector": "vector:3",
	}
}
