package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// operandsOn writes a file of operands without digests, and returns its name.
func operandsOn(t *testing.T, images ...string) string {
	t.Helper()
	text := "# what the file is for\n"
	for _, image := range images {
		text += "- image: " + image + "\n  digest: \"\"\n"
	}
	file := filepath.Join(t.TempDir(), "operands.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pushIndex pushes an image of two architectures, and returns its digest.
func pushIndex(t *testing.T, image string) string {
	t.Helper()
	index, err := random.Index(10, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(parse(t, image), index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// silentHost is an address at which nothing listens: it was taken, and is free again.
func silentHost(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func TestDigestsAreThoseOfTheRegistries(t *testing.T) {
	redis, etcd := serve(t)+"/library/redis:8.0", serve(t)+"/coreos/etcd:v3"
	want := []string{redis + "@" + pushIndex(t, redis), etcd + "@" + pushIndex(t, etcd)}
	file := operandsOn(t, redis, etcd)
	for range 2 { // the second time changes nothing
		var printed strings.Builder
		if err := updateDigests(t.Context(), &printed, "", file); err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(printed.String()); !slices.Equal(got, want) {
			t.Errorf("printed %q, not %q", got, want)
		}
		list, err := readOperands(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].pinned() != want[0] || list[1].pinned() != want[1] {
			t.Errorf("the file has %q, not %q", list, want)
		}
		if text := readText(t, file); !strings.HasPrefix(text, "# what the file is for\n- image: ") {
			t.Errorf("the file is %s", text)
		}
	}
}

func TestDigestsOfCopies(t *testing.T) {
	host := serve(t)
	digest := pushIndex(t, host+"/library/redis:8.0")
	file := operandsOn(t, "docker.io/library/redis:8.0")
	if err := updateDigests(t.Context(), io.Discard, host, file); err != nil {
		t.Fatal(err)
	}
	if list, err := readOperands(file); err != nil || list[0] != (operand{"docker.io/library/redis:8.0", digest}) {
		t.Errorf("%q, %v", list, err)
	}
}

// Half of the digests would pin half of a release.
func TestARegistryThatDoesNotAnswerChangesNoDigest(t *testing.T) {
	host, silent := serve(t), silentHost(t)
	redis := host + "/library/redis:8.0"
	pushIndex(t, redis)
	if err := remote.Write(parse(t, host+"/library/single:1"), randomImage(t, v1.Platform{OS: "linux", Architecture: "amd64"})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		image, words string
	}{
		"no answer":          {silent + "/coreos/etcd:v3", "the registry " + silent + " does not answer"},
		"no such image":      {host + "/library/absent:1", "the registry " + host + " has no image " + host + "/library/absent:1"},
		"one architecture":   {host + "/library/single:1", "is for one architecture alone"},
		"a name with no tag": {host + "/library/redis", "must have a registry, a name and a tag"},
	} {
		file := operandsOn(t, redis, c.image)
		before := readText(t, file)
		if err := updateDigests(t.Context(), io.Discard, "", file); err == nil || !strings.Contains(err.Error(), c.words) ||
			!strings.Contains(err.Error(), "stays as it is") {
			t.Errorf("%s: %v", name, err)
		}
		if after := readText(t, file); after != before {
			t.Errorf("%s: the file is %s", name, after)
		}
	}
}

// A registry that is away is named once, not for each of its images.
func TestEachSilentRegistryIsNamedOnce(t *testing.T) {
	first, second := silentHost(t), silentHost(t)
	err := askRegistries(t.Context(), "", operandList{{Image: first + "/x/a:1"}, {Image: second + "/x/a:1"},
		{Image: first + "/x/b:1"}})
	if err == nil || strings.Count(err.Error(), first+" does not answer") != 1 || strings.Count(err.Error(), second+" does not answer") != 1 {
		t.Errorf("%v", err)
	}
}

func TestARegistryThatTakesTooLongIsNamedOnce(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	host := listener.Addr().String() // the kernel accepts connections, and nothing replies
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	err = askRegistries(ctx, "", operandList{{Image: host + "/x/a:1"}, {Image: host + "/x/b:1"}})
	if err == nil || strings.Count(err.Error(), host+" does not answer") != 1 || strings.Contains(err.Error(), "/x/b:1") {
		t.Errorf("%v", err)
	}
}

// A registry whose reply cannot be used has answered, and may know its other images.
func TestAReplyWithoutADigestIsNamedForEachImage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	err := askRegistries(t.Context(), "", operandList{{Image: host + "/x/a:1"}, {Image: host + "/x/b:1"}})
	for _, words := range []string{"asking the registry " + host + " for the digest of " + host + "/x/a:1: ", "/x/b:1: ", "Content-Type"} {
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%v does not say %q", err, words)
		}
	}
}
