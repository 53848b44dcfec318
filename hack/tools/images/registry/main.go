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
	images := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(*folder)), registry.Logger(log.New(io.Discard, "", 0)))
	server := &http.Server{Addr: *address, Handler: images, ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}
