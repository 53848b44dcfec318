// Command registry serves images over TLS. Their layers are kept in a folder, the
// list of them is gone when it ends: clients push again.
package main

import (
	"flag"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	address := flag.String("address", "", "host:port to listen on")
	folder := flag.String("folder", "", "where layers are kept")
	certificate := flag.String("tls-cert-file", "", "certificate")
	key := flag.String("tls-private-key-file", "", "key to it")
	flag.Parse()
	log.Fatal(newServer(*address, *folder).ListenAndServeTLS(*certificate, *key))
}

// newServer returns a server that speaks HTTP/1.1 alone. go-containerregistry's registry reads the body of one upload at a time, under
// a lock. The uploads of an HTTP/2 connection share its flow control: the bodies that wait for the lock fill it up, the one that is read
// gets no more, and all of them wait for ever. With HTTP/1.1 each upload has a connection of its own.
func newServer(address, folder string) *http.Server {
	images := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)), registry.Logger(log.New(io.Discard, "", 0)))
	server := &http.Server{Addr: address, Handler: images, ReadHeaderTimeout: time.Minute, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	return server
}
