// The module of the tests: it does what the first word of its input says.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	word, rest, _ := strings.Cut(string(input), " ")
	switch word {
	case "repeat":
		fmt.Print(rest)
	case "exit":
		fmt.Fprintln(os.Stderr, "it is not my day")
		os.Exit(7)
	case "panic":
		panic("out of order")
	case "hang":
		for i := 0; ; i++ {
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 1<<16))
		}
	case "mutter":
		for range 100_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		fmt.Fprintln(os.Stderr, "the end")
	case "grow":
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "inspect":
		_, file := os.ReadFile("/etc/passwd")
		_, dir := os.ReadDir(".")
		_, dial := net.Dial("tcp", "127.0.0.1:1")
		fmt.Print(os.Environ(), os.Args, file != nil, dir != nil, dial != nil)
	}
}
