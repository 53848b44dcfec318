// Command versitygw serves S3 from a folder, over TLS: the store that tests of backups use. It prints "listening" once
// it does so, and ends with its standard input. The credentials are in the environment, ACCESS_KEY_ID and SECRET_ACCESS_KEY.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

func main() {
	address := flag.String("address", "", "host:port to listen on")
	folder := flag.String("folder", "", "where buckets are kept, each a folder")
	attributes := flag.String("attributes", "", "where the attributes of buckets and objects are kept")
	certificate := flag.String("tls-cert-file", "", "certificate; without one it speaks plain HTTP")
	key := flag.String("tls-private-key-file", "", "key to it")
	flag.Parse()
	if err := serve(*address, *folder, *attributes, *certificate, *key); err != nil {
		log.Fatal(err)
	}
}

func serve(address, folder, attributes, certificate, key string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // its parent may be killed: nothing is left running
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	kept, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	disk, err := posix.New(folder, kept, posix.PosixOpts{SideCarDir: attributes})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, disk, &embedgw.Config{
		RootUserAccess: os.Getenv("ACCESS_KEY_ID"), RootUserSecret: os.Getenv("SECRET_ACCESS_KEY"),
		Ports: []string{address}, CertFile: certificate, KeyFile: key, KeepAlive: true, Quiet: true,
		MaxConnections: 256, MaxRequests: 256, MultipartMaxParts: 10000,
		S3Options: []s3api.Option{s3api.WithOnListen(func() { fmt.Println("listening") })},
	})
}
