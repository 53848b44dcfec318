package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
)

// unmountBelow unmounts everything at or below the folders, the newest first.
// Lazily, because whatever still holds a file open there is on its way out.
func unmountBelow(ctx context.Context, dirs ...string) error {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountsBelow(string(info), dirs...)
	if len(points) == 0 {
		return nil
	}
	_, err = output(ctx, "umount", append([]string{"--lazy", "--"}, points...)...)
	return err
}

// mountsBelow reads a mountinfo table, which lists mounts in their order.
func mountsBelow(mountinfo string, dirs ...string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape(fields[4])
		if slices.ContainsFunc(dirs, func(dir string) bool { return isBelow(point, dir) }) {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// unescape turns the octal escapes of the kernel's tables back.
func unescape(field string) string {
	var out strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if code, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(field[i])
	}
	return out.String()
}
