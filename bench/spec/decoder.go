package spec

import (
	"fmt"
	"math"
	"reflect"
	"time"
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
	if target.Type() == reflect.TypeFor[Duration]() {
		d.duration(target, value, path)
		return
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
	case reflect.Map:
		table, ok := value.(map[string]any)
		if !ok || target.Type().Elem().Kind() == reflect.Interface {
			d.plain(target, value, path)
			return
		}
		target.Set(reflect.MakeMap(target.Type()))
		for _, key := range sortedKeys(table) {
			element := reflect.New(target.Type().Elem()).Elem()
			d.decode(element, table[key], join(path, key))
			target.SetMapIndex(reflect.ValueOf(key), element)
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
		d.plain(target, value, path)
	}
}

// plain fills a field with a value of its own type.
func (d decoder) plain(target reflect.Value, value any, path string) {
	if v := reflect.ValueOf(value); v.Type().AssignableTo(target.Type()) {
		target.Set(v)
		return
	}
	d.file.problem(path, "wants %s, is %s", kindOf(reflect.Zero(target.Type()).Interface()), kindOf(value))
}

// duration fills a duration: text with a unit, or a bare number of seconds as crud-bench has it.
func (d decoder) duration(target reflect.Value, value any, path string) {
	var seconds float64
	switch v := value.(type) {
	case string:
		parsed, err := ParseDuration(v)
		if err != nil {
			d.file.problem(path, "%v", err)
			return
		}
		target.SetInt(int64(parsed))
		return
	case int64:
		seconds = float64(v)
	case float64:
		seconds = v
	default:
		d.file.problem(path, "wants a duration such as \"30s\", or a number of seconds, is %s", kindOf(value))
		return
	}
	if !(math.Abs(seconds) <= maxSeconds) {
		d.file.problem(path, "%g seconds are more than anybody waits", seconds)
		return
	}
	target.SetInt(int64(seconds * float64(time.Second)))
}

// maxSeconds bounds durations in seconds: a century.
const maxSeconds = 3e9

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
