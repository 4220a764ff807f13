// Goroutines, channels, timers, children and a server, from a static binary with its own runtime.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	var group sync.WaitGroup
	squares := make(chan int)
	for n := 0; n < 100; n++ {
		group.Add(1)
		go func(n int) { defer group.Done(); squares <- n * n }(n)
	}
	go func() { group.Wait(); close(squares) }()
	sum := 0
	for square := range squares {
		sum += square
	}
	fmt.Println("sum", sum)

	output, err := exec.Command("sh", "-c", "echo from a child; exit 3").Output()
	fmt.Printf("%q %v\n", output, err)

	select {
	case <-time.After(20 * time.Millisecond):
		fmt.Println("timer")
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("signal", <-signals)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "asked for ", r.URL.Path)
	}))
	response, err := http.Get("http://" + listener.Addr().String() + "/page")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Println(string(body))

	os.WriteFile("made", []byte("by go"), 0o644)
	var threads sync.WaitGroup
	for n := 0; n < 20; n++ {
		threads.Add(1)
		go func() { defer threads.Done(); runtime.LockOSThread(); time.Sleep(10 * time.Millisecond) }()
	}
	threads.Wait()

	defer func() { fmt.Println("recovered:", recover()) }()
	var nothing *int
	fmt.Println(*nothing)
}
