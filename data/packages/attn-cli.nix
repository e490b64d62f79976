# attn-cli as an expression of Nix:
#
#     nix-build data/packages/attn-cli.nix && result/bin/attn-cli run "Life is short"
#
# Parsed by the tests, not built by them.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "attn-cli";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = [ pkgs.makeWrapper ];
  buildInputs = [ pkgs.cjson pkgs.oniguruma pkgs.utf8proc ]
    ++ pkgs.lib.optional pkgs.stdenv.hostPlatform.isx86_64 pkgs.libxsmm;

  enableParallelBuilding = true;
  makeFlags = [ "PREFIX=${placeholder "out"}" "BUILD=built" "DEPS=0" "WERROR=" ];

  # PNG and PDF are drawn by libraries that it looks for when it draws one.
  postFixup = ''
    wrapProgram $out/bin/attn-cli \
      --suffix LD_LIBRARY_PATH : ${pkgs.lib.makeLibraryPath [ pkgs.pango pkgs.cairo pkgs.glib ]}
  '';

  meta = {
    description = "See what every attention head of a GPT looks at";
    license = pkgs.lib.licenses.mit;
    mainProgram = "attn-cli";
  };
}
