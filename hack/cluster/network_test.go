package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyOurBridgeIsTaken(t *testing.T) {
	for address, want := range map[string]struct{ there, ours bool }{
		"":                    {false, false},
		bridgeMAC + "\n":      {true, true},
		"0a:58:0a:f4:00:01\n": {true, false},
	} {
		devices := t.TempDir()
		if want.there {
			if err := os.Mkdir(filepath.Join(devices, bridge), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(devices, bridge, "address"), []byte(address), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if there, ours := findBridge(devices); there != want.there || ours != want.ours {
			t.Errorf("%q: there %v, ours %v", address, there, ours)
		}
	}
}
