# `nix run .` builds Pellucid from this checkout. There is no lock file: nixpkgs is the one of your registry.
{
  description = "A coding agent you can see through";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      forSystems = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forSystems (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "pellucid";
          version = manifest.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "pellucid" ];
          # The tests need git, Python and namespaces, which a build does not have.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            mkdir pages
            $out/bin/pellucid man --to pages
            installManPage pages/*
            for shell in bash fish zsh; do
              $out/bin/pellucid completion $shell > completion.$shell
              installShellCompletion --cmd pellucid --$shell completion.$shell
            done
          '';
          meta = {
            description = "A coding agent you can see through";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "pellucid";
            platforms = systems;
          };
        };
      });
    };
}
