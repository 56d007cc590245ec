// Files a ticket for a late payment, and remembers it in state.json. With KEY it sends a key that stays the same.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

const body = `{"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}`

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func post(address string) string {
	connection, err := net.Dial("tcp", address)
	check(err)
	defer connection.Close()
	key := ""
	if given := os.Getenv("KEY"); given != "" {
		key = "Idempotency-Key: " + given + "\r\n"
	}
	fmt.Fprintf(connection, "POST /tickets HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		address, key, len(body), body)
	answer, err := io.ReadAll(bufio.NewReader(connection))
	check(err)
	head, said, _ := strings.Cut(string(answer), "\r\n\r\n")
	if !strings.Contains(strings.SplitN(head, "\r\n", 2)[0], " 20") {
		check(fmt.Errorf("the desk said %s", head))
	}
	return said
}

func main() {
	if _, err := os.Stat("state.json"); err == nil {
		return
	}
	said := post(strings.TrimPrefix(os.Getenv("TICKETS_URL"), "http://"))
	check(os.WriteFile("state.json.new", []byte(said), 0o644))
	check(os.Rename("state.json.new", "state.json"))
}
