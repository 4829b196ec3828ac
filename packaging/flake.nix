{
  # To try it in a clone: nix run ./packaging
  description = "Memory for coding agents that keeps the reasons";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" "x86_64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "ergo";
          version = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).workspace.package.version;
          src = ../.;
          cargoLock.lockFile = ../Cargo.lock;
          cargoBuildFlags = [ "--bin" "ergo" ];
          nativeBuildInputs = [ pkgs.cmake pkgs.git pkgs.installShellFiles pkgs.rustPlatform.bindgenHook ];
          # cmake is for llama.cpp alone.
          dontUseCmakeConfigure = true;
          # With this variable, which Nix sets, llama.cpp would leave out AVX2.
          preBuild = "unset SOURCE_DATE_EPOCH";
          # The tests start daemons and terminals; `make test` runs them.
          doCheck = false;
          postInstall = ''
            mkdir -p man
            $out/bin/ergo man --folder man
            installManPage man/*.1
            for shell in bash zsh fish; do
              $out/bin/ergo completions $shell > ergo.$shell
            done
            installShellCompletion ergo.bash ergo.zsh ergo.fish
          '';
          meta = {
            description = "Memory for coding agents that keeps the reasons";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "ergo";
          };
        };
      });
    };
}
