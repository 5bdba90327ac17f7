# Homebrew on Linux: the static program, its manual and completions.
class Pellucid < Formula
  desc "Coding agent you can see through"
  homepage "@ADDRESS@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "@ADDRESS@/pellucid-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256_X86_64@"
  end

  on_arm do
    url "@ADDRESS@/pellucid-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256_AARCH64@"
  end

  def install
    bin.install "bin/pellucid"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/pellucid"
    zsh_completion.install "share/zsh/site-functions/_pellucid"
    fish_completion.install "share/fish/vendor_completions.d/pellucid.fish"
  end

  test do
    assert_match "pellucid #{version}", shell_output("#{bin}/pellucid --version")
    system bin/"pellucid", "demo"
  end
end
