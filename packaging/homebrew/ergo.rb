# A template for a tap: fill in `HOMEPAGE`, and `URL` and `SHA256` from the release's source archive.
class Ergo < Formula
  desc "Memory for coding agents that keeps the reasons"
  homepage "HOMEPAGE"
  url "URL"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "cmake" => :build
  depends_on "rust" => :build

  uses_from_macos "llvm" => :build

  def install
    # With this variable llama.cpp would leave out AVX2.
    ENV.delete "SOURCE_DATE_EPOCH"
    system "cargo", "install", *std_cargo_args
    system bin/"ergo", "man", "--folder", "."
    man1.install Dir["*.1"]
    generate_completions_from_executable(bin/"ergo", "completions")
  end

  service do
    run [opt_bin/"ergo", "daemon", "run"]
    keep_alive successful_exit: false
  end

  test do
    ENV["ERGO_HOME"] = testpath
    assert_match "schema", shell_output("#{bin}/ergo --version")
    assert_match "Refused", shell_output("#{bin}/ergo demo --plain")
  end
end
