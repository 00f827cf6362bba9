package spec

import (
	"fmt"
	"reflect"
)

// decoder fills plain structs from a TOML tree and goes on after each problem, where the library's own decoder stops at the first.
type decoder struct{ file *File }

// into fills what target points to from value, which stands at path in the file.
func (d decoder) into(target, value any, path string) {
	d.decode(reflect.ValueOf(target).Elem(), value, path)
}

// decode fills one field; a problem leaves it as it is.
func (d decoder) decode(target reflect.Value, value any, path string) {
	if target.Type() == reflect.TypeFor[Sweep]() {
		if _, single := value.(int64); single {
			value = []any{value}
		}
	}
	switch target.Kind() {
	case reflect.Pointer:
		element := reflect.New(target.Type().Elem())
		target.Set(element)
		d.decode(element.Elem(), value, path)
	case reflect.Struct:
		d.table(target, value, path)
	case reflect.Slice:
		elements, ok := value.([]any)
		if !ok {
			d.file.problem(path, "wants an array, is %s", kindOf(value))
			return
		}
		target.Set(reflect.MakeSlice(target.Type(), len(elements), len(elements)))
		for i, element := range elements {
			d.decode(target.Index(i), element, fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Float64:
		switch v := value.(type) {
		case float64:
			target.SetFloat(v)
		case int64:
			target.SetFloat(float64(v))
		default:
			d.file.problem(path, "wants a number, is %s", kindOf(value))
		}
	default:
		if v := reflect.ValueOf(value); v.Type().AssignableTo(target.Type()) {
			target.Set(v)
		} else {
			d.file.problem(path, "wants %s, is %s", kindOf(reflect.Zero(target.Type()).Interface()), kindOf(value))
		}
	}
}

// table fills a struct whose fields name their keys in a toml tag.
func (d decoder) table(target reflect.Value, value any, path string) {
	table, ok := value.(map[string]any)
	if !ok {
		d.file.problem(path, "wants a table, is %s", kindOf(value))
		return
	}
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		fields[target.Type().Field(i).Tag.Get("toml")] = target.Field(i)
	}
	for _, key := range sortedKeys(table) {
		if field, ok := fields[key]; ok {
			d.decode(field, table[key], join(path, key))
		} else {
			d.file.problem(join(path, key), "unknown key%s", didYouMean(key, sortedKeys(fields)))
		}
	}
}

// kindOf names the type of a TOML value for people.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time" // TOML has nothing else
}
