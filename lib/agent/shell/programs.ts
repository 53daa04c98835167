/** Programs known to be harmless, and the arguments that make them dangerous. */

const set = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/).filter(Boolean))

/** Only read and print, with any arguments. */
export const READ_ONLY = set(`
  ls dir vdir exa eza lsd cat head tail wc grep egrep fgrep zgrep zegrep rg ripgrep ag ack ugrep pwd echo printf which type
  whereis stat file du df dust duf ncdu whoami logname id groups uname ps pstree pgrep pidof true false test [ [[ ]] : cd pushd popd dirs
  cut tr nl basename dirname realpath readlink cmp diff diff3 colordiff delta md5sum sha1sum sha224sum sha256sum sha384sum sha512sum
  md5 shasum cksum sum b2sum jq gojq free uptime less more most bat batcat column fold fmt od hexdump strings rev tac comm join
  paste expand unexpand seq sleep expr nproc arch printenv locale tty users who w last lsof vmstat iostat mpstat getent
  getconf lscpu lsblk lsusb lspci lsmod lshw blkid findmnt ss netstat ping ping6 dig nslookup host whois traceroute tracepath mtr tput
  clear reset history jobs wait times caller help info apropos whatis tldr cal factor numfmt bc units cloc tokei scc wdiff look nm objdump
  readelf size addr2line c++filt pkg-config otool lipo sw_vers system_profiler vm_stat uuidgen uuid base64 base32 basenc zcat bzcat xzcat
  zstdcat zless bzless xzless zdiff yes fg bg disown export declare typeset local readonly read return break continue shift exit logout
  set unset let shopt getopts ulimit umask mapfile readarray unalias compgen identify exiftool mediainfo ffprobe jid fx htmlq pup gron
  xmlstarlet xpath tree sort uniq date hostname dmesg ip ifconfig route arp sysctl mount man hash enable bind top htop xxd find gfind fd fdfind
  awk gawk mawk nawk csvlook csvcut csvstat csvgrep mlr xsv dot_clean iconv dos2unix unix2dos nl tsort ptx pr split csplit shuf
  lsb_release hostnamectl timedatectl localectl journalctl loginctl kdialog notify-send say pbpaste xclip xsel tmutil spctl codesign
  jo dasel hexyl difft gh-dash onefetch neofetch fastfetch screenfetch lolcat figlet cowsay fortune toilet banner glow mdcat
`)

/** Everyday tools that change files where they run. */
export const TOOLS = set(`
  make gmake bmake cmake ctest cpack ninja meson autoconf automake autoreconf aclocal autoheader libtoolize configure scons bazel bazelisk buck2 just task mage
  cargo rustc rustfmt rustup rustdoc clippy-driver wasm-pack cross trunk go gofmt goimports golangci-lint staticcheck gopls dlv ginkgo mockgen gotestsum air wire sqlc
  gcc g++ cc c++ cpp clang clang++ clang-format clang-tidy clangd ld lld gold ar as ranlib strip objcopy ccache distcc nasm yasm gcov lcov gcovr cppcheck bear
  tsc tsgo eslint eslint_d prettier prettierd jest vitest mocha ava tap tape nyc c8 biome oxlint oxfmt dprint stylelint webpack webpack-cli vite rollup rolldown esbuild parcel turbo nx
  lerna next nuxt nuxi astro svelte-kit svelte-check gatsby remix ng vue vue-tsc vue-cli-service react-scripts storybook start-storybook build-storybook playwright cypress
  wdio karma jasmine tsup tsdown unbuild tsd typedoc api-extractor knip depcheck madge lint-staged husky commitlint changeset semantic-release standard-version size-limit
  bundlesize postcss sass less-watch lessc tailwindcss tailwind unocss graphql-codegen openapi-generator openapi-generator-cli swagger-cli redocly spectral json-server serve http-server live-server
  browser-sync concurrently npm-run-all run-s run-p wait-on nodemon pm2-dev ncu npm-check-updates syncpack sort-package-json publint attw markdownlint markdownlint-cli2 remark cspell alex
  pytest py.test unittest tox nox mypy dmypy pyright basedpyright pyre pytype ruff black blue flake8 pylint isort autopep8 yapf bandit coverage pyupgrade pycodestyle pydocstyle vulture radon xenon
  sphinx-build sphinx-quickstart mkdocs jupyter jupytext papermill nbconvert django-admin flask uvicorn gunicorn hypercorn daphne celery alembic scrapy streamlit fastapi maturin cython f2py hatchling
  virtualenv pyclean pip-compile pip-sync pipdeptree pip-audit safety check-jsonschema pydoc pydoc3 twine-check tqdm
  mvn mvnd mvnw gradle gradlew ant sbt mill lein boot kotlinc kotlin scalac scalafmt javac java javap javadoc jar jshell ktlint detekt checkstyle spotbugs
  dotnet msbuild nuget csc fsc swiftc xcodebuild xcrun swiftlint swiftformat pod carthage fastlane xcpretty
  rake rspec rubocop rails minitest standardrb erb haml brakeman steep sorbet srb jekyll middleman bridgetown ruby-lint reek
  phpunit pest phpstan psalm php-cs-fixer phpcs phpcbf pint rector artisan symfony drush wp-env parallel-lint
  mix rebar3 dialyzer stack cabal ghc hlint ormolu fourmolu stylish-haskell zig nim nimble ocaml ocamlc ocamlfind dune elm elm-test elm-format flutter dart crystal shards v gleam nickel dhall racket raco
  protoc buf grpcurl thrift flatc capnp shellcheck shfmt bats hadolint yamllint actionlint pre-commit codespell typos vale proselint textlint dot neato graphviz plantuml mmdc d2
  pandoc pdflatex xelatex lualatex latexmk bibtex biber tectonic typst asciidoctor convert magick mogrify composite montage ffmpeg sox cwebp dwebp gifsicle optipng pngquant jpegoptim svgo inkscape rsvg-convert wkhtmltopdf wkhtmltoimage gs qpdf pdftotext pdftoppm pdfinfo pdfunite
  ldd gettext msgfmt xgettext msgmerge ctags etags cscope doxygen swig bison flex yacc lex m4 gperf valgrind perf gprof hyperfine wrk ab hey k6 oha vegeta locust time
  touch mkdir mktemp tee git-lfs lfs patch gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress zip unzip tar bsdtar cpio 7z 7za 7zr unrar rar
  http-prompt xdg-open-url direnv nvm fnm volta n rbenv pyenv asdf mise sdk jenv goenv tfenv corepack node-gyp prebuildify husky-run
  helmfile-lint kubeconform kubeval kube-linter kustomize tflint tfsec checkov terrascan infracost trivy grype syft semgrep gitleaks trufflehog snyk
  sqlfluff sqlfmt squawk pgformatter pg_format prisma drizzle-kit knex sequelize typeorm supabase-lint dbt liquibase-validate
  emcc emmake emcmake wasm-opt wasm2wat wat2wasm wasmtime wasmer qemu-system-x86_64 avr-gcc arm-none-eabi-gcc platformio pio west idf.py arduino-cli
  tmux-ls code-lint bundle bundler gem composer npm npx yarn yarnpkg pnpm pnpx bun bunx deno pip pip3 pipx uv uvx poetry pipenv pdm rye hatch conda mamba micromamba opam luarocks cpanm hex vcpkg conan
  node nodejs tsx ts-node python ruby perl php lua luajit julia rscript elixir iex groovy scala swift octave sqlite3 sqlite
  docker podman nerdctl docker-compose kubectl oc helm minikube kind k3d terraform tofu terragrunt pulumi packer vagrant ansible-lint gh glab hub
  yq sed gsed cp mv rm rmdir unlink ln install rsync truncate curl wget http https xh httpie openssl git jj hg svn psql mysql mariadb mongosh redis-cli
  source . eval trap alias exec command builtin env nice nohup setsid timeout gtimeout watch entr watchexec xargs gxargs parallel flock script stdbuf unbuffer ionice chrt taskset strace ltrace
  sudo doas su busybox toybox bash sh zsh dash ksh fish kill pkill killall wait4x pv ts sponge vipe chmod chown chgrp ed ex vi vim nvim view emacs gdb lldb catchsegv fakeroot xvfb-run dbus-run-session systemd-inhibit caffeinate
  cross-env env-cmd dotenv systemctl service launchctl brew id3v2 lz4cat tmux screen complete
`)

/** Options that make a harmless program run another one, write elsewhere, or change the system. */
export const DENIED: Readonly<
  Record<string, readonly [pattern: RegExp, label: 'command' | 'write' | 'system' | 'secret'][]>
> = {
  rg: [[/^--(?:pre|hostname-bin)(?:=|$)/, 'command']],
  ripgrep: [[/^--(?:pre|hostname-bin)(?:=|$)/, 'command']],
  ag: [[/^--pager/, 'command']],
  ack: [[/^--pager/, 'command']],
  man: [
    [/^(?:-\w*[PH]|--p(?:a|$|ager)|--html|-H)/, 'command'],
    [/^-[a-zA-Z]*C|^--config/, 'command'],
  ],
  less: [[/^(?:\+.*!|-\w*k|--lesskey|-\w*[oO]|--log-file|--LOG-FILE)/, 'command']],
  bat: [[/^--pager/, 'command']],
  batcat: [[/^--pager/, 'command']],
  date: [[/^(?:-s|--set)/, 'system']],
  hostname: [[/^(?:[^-]|-F|--file|-b)/, 'system']],
  hostnamectl: [[/^set-|^hostname$/, 'system']],
  timedatectl: [[/^set-/, 'system']],
  localectl: [[/^set-/, 'system']],
  journalctl: [[/^--(?:vacuum|rotate|flush|relinquish|setup-keys|sync)/, 'system']],
  loginctl: [[/^(?:kill|terminate|lock|unlock|activate|attach|enable|disable|flush)/, 'system']],
  dmesg: [[/^(?:-\w*[cCDEn]|--(?:clear|read-clear|console))/, 'system']],
  ip: [
    [/^(?:add|del|delete|set|flush|change|replace|append|exec|up|down|link-set|netns)$/, 'system'],
  ],
  ifconfig: [[/^(?:up|down|add|del|\d|netmask|promisc|hw|mtu)/, 'system']],
  route: [[/^(?:add|del|delete|flush|change)$/, 'system']],
  arp: [[/^-[sd]/, 'system']],
  sysctl: [[/^(?:-\w*w|--write|-p|--load|--system|[\w.]+=)/, 'system']],
  mount: [[/^(?!-l$|-h$|--help$|-V$|--version$|-t$|-v$)/, 'system']],
  ss: [[/^(?:-\w*[KD]|--kill|--diag)/, 'system']],
  hash: [[/^-\w*p/, 'command']],
  enable: [[/^-\w*[fdn]|^[^-]/, 'command']],
  bind: [[/^-\w*x/, 'command']],
  xxd: [[/^-\w*r/, 'write']],
  find: [[/^-(?:fprint0?|fprintf|fls)$/, 'write']],
  gfind: [[/^-(?:fprint0?|fprintf|fls)$/, 'write']],
  sort: [[/^--co/, 'command']],
  split: [[/^--fi/, 'command']],
  csplit: [],
  strings: [],
  nslookup: [],
  top: [],
  spctl: [[/^--(?:add|remove|enable|disable|master|global|reset)/, 'system']],
  tmutil: [
    [
      /^(?!list|latest|destinationinfo|status|compare|version|machinedirectory|isexcluded|uniquesize)/,
      'system',
    ],
  ],
  codesign: [[/^(?:-\w*[sf]|--sign|--force|--remove)/, 'system']],
  tar: [
    [
      /^--(?:ch|to-c|use-c|rsh|rmt|info-s|new-vol|sec|checkpoint|to-command)|^-[a-zA-Z]*[IF]|^-?[a-zA-Z]*F$|^(?:-\w*P|--abs)/,
      'command',
    ],
  ],
  bsdtar: [[/^--(?:use-c|checkpoint)|^-[a-zA-Z]*I/, 'command']],
  cpio: [
    [/^--(?:rsh|to-stdout-cmd)/, 'command'],
    [/^--absolute-filenames/, 'write'],
  ],
  zip: [
    [/^(?:-\w*T\w*T|-TT|--unzip-command|--test-command)|^-TT/, 'command'],
    [/^-\w*m$|^--move$/, 'write'],
  ],
  unzip: [[/^-\w*:/, 'write']],
  '7z': [[/^-sdel/, 'write']],
  gzip: [],
  make: [
    [
      /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|CC|CXX|LD|AR)=.*[;|&`$]|^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS)[:+]?=|^--eval|^-\w*E/,
      'command',
    ],
  ],
  gmake: [[/^(?:SHELL|MAKEFLAGS)[:+]?=|^--eval|^-\w*E/, 'command']],
  cmake: [[/^-E$/, 'command']],
  rsync: [
    [
      /^(?:-\w*e|--rs|--blocking-io|-M|--remote-option|--out-format.*`|--early-input|--daemon|--config)/,
      'command',
    ],
  ],
  scp: [[/^-\w*[SoFD]/, 'command']],
  gcc: [[/^(?:-wrapper|-fplugin|-specs|-B|@)/, 'command']],
  'g++': [[/^(?:-wrapper|-fplugin|-specs|-B|@)/, 'command']],
  clang: [[/^(?:-fplugin|-load|--config)/, 'command']],
  rustc: [[/linker=|-Clinker|link-arg/, 'command']],
  go: [
    [/^-{1,2}(?:toolexec|exec|vettool|overlay|modcacherw)/, 'command'],
    [/^(?:generate)$/, 'command'],
  ],
  java: [[/^(?:-javaagent|-agentpath|-agentlib|-XX:OnError|-XX:OnOutOfMemoryError|@)/, 'command']],
  perl: [[/^-(?![IM])[a-zA-Z]*i/, 'write']],
  pytest: [[/^-p$|^--pdbcls/, 'command']],
  pandoc: [[/^(?:-F|--filter|-L|--lua-filter|--pdf-engine)/, 'command']],
  pdflatex: [[/^-{1,2}(?:shell-escape|enable-write18)/, 'command']],
  xelatex: [[/^-{1,2}(?:shell-escape|enable-write18)/, 'command']],
  lualatex: [[/^-{1,2}(?:shell-escape|enable-write18)/, 'command']],
  latexmk: [[/^-{1,2}(?:shell-escape|enable-write18|e$|latex=|pdflatex=|usepretex)/, 'command']],
  convert: [[/^(?:msl|ephemeral|mvg|text|label:@|@)/, 'command']],
  identify: [[/^(?:msl|ephemeral|@)/, 'command']],
  magick: [[/^(?:msl|ephemeral|@)/, 'command']],
  protoc: [[/^--plugin/, 'command']],
  nmap: [[/^--script/, 'command']],
  watch: [],
  script: [],
  openssl: [[/^(?:-engine|s_server|-provider|-provider-path|-CApath|speed-engine)$/, 'command']],
  awk: [[/^(?:-l|--load|-i|--include|-E|--exec|-W)/, 'command']],
  gawk: [[/^(?:-l|--load|-i|--include|-E|--exec|-W)/, 'command']],
  tree: [],
  jq: [],
  tmux: [[/^(?!ls$|list-|-V$|has-session|capture-pane|display|show)/, 'command']],
  screen: [[/^(?!-ls$|-list$|-v$)/, 'command']],
  xargs: [],
  complete: [[/^-\w*[CF]/, 'command']],
  emacs: [[/^(?!--batch$|--version$)/, 'command']],
  ffmpeg: [],
  perf: [],
  jupyter: [[/^(?:notebook|lab|server)$/, 'command']],
  vagrant: [[/^(?:destroy|ssh|provision|plugin|box|up|rsync|upload|winrm)$/, 'command']],
  rails: [[/^(?:runner|r|console|c|dbconsole|db:drop|db:reset|db:purge|destroy)$/, 'command']],
  rake: [[/^(?:db:drop|db:reset|db:purge|-e|-E|--execute)/, 'command']],
  prisma: [[/^(?:reset|--force-reset|--accept-data-loss|execute)$/, 'command']],
  'drizzle-kit': [[/^(?:drop|push)$/, 'command']],
  'django-admin': [[/^(?:flush|sqlflush|reset_db|shell|dbshell)$/, 'command']],
  alembic: [[/^downgrade$/, 'command']],
  dbt: [[/^--full-refresh$/, 'command']],
  nvm: [[/^(?:uninstall|unload)$/, 'system']],
  mix: [[/^(?:ecto\.drop|ecto\.reset|run|eval|hex\.publish)$/, 'command']],
  celery: [[/^(?:purge|control)$/, 'command']],
  codespell: [],
  id3v2: [],
  wget: [[/^--(?:use-askpass|config|execute)|^-\w*e$|^--post-file|^--body-file/, 'command']],
  symfony: [],
  artisan: [[/^(?:tinker|db:wipe|migrate:(?:fresh|reset|refresh))$/, 'command']],
  pulumi: [[/^(?:up|destroy|cancel|import|stack|state|refresh|update)$/, 'command']],
  packer: [[/^(?:build)$/, 'command']],
  minikube: [[/^(?:delete|ssh|stop|start|mount)$/, 'command']],
  kind: [[/^delete$/, 'command']],
  k3d: [[/^delete$/, 'command']],
  fastlane: [],
  'cloud-init': [],
  semantic: [],
  'semantic-release': [[/^(?!--dry-run)/, 'command']],
  direnv: [[/^(?:allow|edit|hook)$/, 'command']],
  nuget: [[/^(?:push|delete)$/, 'command']],
  dotnet: [[/^(?:publish-nuget|push|delete)$/, 'command']],
  twine: [[/^upload$/, 'command']],
  poetry: [[/^(?:publish|config|self)$/, 'command']],
  hatch: [[/^publish$/, 'command']],
  pdm: [[/^publish$/, 'command']],
  mvn: [[/^(?:deploy|release:|exec:exec|antrun:run)/, 'command']],
  gradle: [[/^(?:publish|uploadArchives)$|^(?:-I|--init-script)/, 'command']],
  lerna: [[/^(?:publish|exec|clean)$/, 'command']],
  changeset: [[/^publish$/, 'command']],
  sbt: [[/^publish/, 'command']],
  supabase: [[/./, 'command']],
  liquibase: [[/^drop/, 'command']],
  knex: [[/rollback/, 'command']],
  sequelize: [[/^db:drop|undo/, 'command']],
  typeorm: [[/schema:drop|migration:revert/, 'command']],
  gdb: [[/^(?:-p|--pid|-x|--command)/, 'command']],
  lldb: [[/^(?:-p|--attach|-n)/, 'command']],
  strace: [[/^-\w*p|^--attach|^(?:-\w*o|--output=)?[|!]/, 'command']],
  bwrap: [[/./, 'command']],
  cargo: [[/^--config(?:=|$)/, 'command']],
  sponge: [],
  ansible: [[/./, 'command']],
}
