// Package pidspace tells where the numbers of processes mean something: within one pid namespace of one boot of a machine. The same number
// elsewhere, such as in a container that shares files with this one, is another process.
package pidspace
