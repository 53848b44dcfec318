package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// shellBlock is a block of commands on a page, which may be part of a list.
var shellBlock = regexp.MustCompile("(?s)( *)```sh\n(.*?)\n *```")

var _ = Describe("The page on disaster recovery", Label(faults), func() {
	It("brings both kinds back from nothing but a bucket", func(ctx SpecContext) {
		page, err := os.ReadFile(filepath.Join(root, "docs", "disaster-recovery.md"))
		Expect(err).NotTo(HaveOccurred())
		var commands []string
		for _, found := range shellBlock.FindAllStringSubmatch(string(page), -1) {
			commands = append(commands, strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n"))
		}
		Expect(len(commands)).To(BeNumerically(">", 4), "there are fewer commands than the page has steps")

		b := startS3(ctx, false)
		e, r := builders.EtcdCluster("inventory").Storage("128Mi").Build(), builders.Redis("sessions").Storage("64Mi").Build()
		create(ctx, e)
		create(ctx, r)
		eventuallyReady(ctx, e)
		eventuallyReady(ctx, r)
		puts, writes := puttingBy(ctx, dialEtcd(e, nil)), writing(ctx, r)
		puts.stop()
		confirmed := [2][]string{puts.confirmed(), writes.Keys()}

		kubeconfig := inNamespace()
		for _, text := range commands {
			By(strings.TrimSpace(text))
			command := exec.CommandContext(ctx, "bash", "-euc", text) //nolint:gosec // the page's own commands
			command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "ENDPOINT="+b.endpoint, "BUCKET="+s3.Bucket,
				"ACCESS_KEY_ID="+s3.AccessKeyID, "SECRET_ACCESS_KEY="+s3.SecretAccessKey)
			output, err := command.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", output)
		}
		refresh(ctx, e)
		refresh(ctx, r)
		Expect(missing(confirmed[0], etcdKeys(ctx, dialEtcd(e, nil)))).To(BeEmpty(), "of %d", len(confirmed[0]))
		Expect(missing(confirmed[1], redisKeys(ctx, redisClient(ctx, r, r.Name)))).To(BeEmpty(), "of %d", len(confirmed[1]))
	}, longest)
})

// inNamespace writes a kubeconfig whose commands are about the spec's namespace.
func inNamespace() string {
	GinkgoHelper()
	loaded, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	Expect(err).NotTo(HaveOccurred())
	loaded.Contexts[loaded.CurrentContext].Namespace = namespace
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*loaded, file)).To(Succeed())
	return file
}
