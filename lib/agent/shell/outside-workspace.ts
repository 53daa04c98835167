/** Programs and projects that can't be checked before they run (archives, libraries, build files): their location decides. */
import { isProgramDirectory } from './local-programs.ts'
import { absolute, isInWorkspace } from './paths.ts'
import { hasUnknown } from './syntax.ts'
import type { ShellContext, SimpleCommand } from './types.ts'

type Naming = {
  /** Short options whose value is a project, a build file, or a library. */
  short?: string
  /** Long options, with one or two dashes. */
  long?: string
  /** Selects the arguments that name one. */
  words?: (words: readonly string[]) => readonly string[]
  /** The working directory counts too. */
  isBuild?: true
}

const isPath = (word: string): boolean => /^(?:[~/]|\.\.?(?:\/|$))/.test(word)
const isArchive = (word: string): boolean =>
  /\.(?:jar|war|dll|exe|csx|phar|pyz|pex|egg|whl|nupkg|gem)$/i.test(word)

/** Source files that are compiled and run at once. */
const isSource = (word: string): boolean => /\.(?:java|kts|csx|fsx|cs)$/i.test(word)

const paths = (words: readonly string[]): readonly string[] => words.filter(isPath)
const archives = (words: readonly string[]): readonly string[] => words.filter(isArchive)
/** The remaining words are arguments of the started program. */
const firstOf =
  (find: (words: readonly string[]) => readonly string[]) =>
  (words: readonly string[]): readonly string[] =>
    find(words).slice(0, 1)
/** A program that is compiled and started at once; later paths are its own arguments. */
const started = firstOf(words =>
  words.filter(word => isPath(word) || /\.(?:zig|dart|v|nim|cr|ml)$/.test(word)),
)
/** Installing a package from a folder runs its scripts. */
const installed = (words: readonly string[]): readonly string[] =>
  /^(?:pip |tool )?(?:install|i|add|link|sync|inject|run-script)(?: |$)/.test(words.join(' '))
    ? paths(words)
    : []
const goPackages = ([verb = '', ...rest]: readonly string[]): readonly string[] =>
  verb === 'run' ? rest.slice(0, 1).filter(isPath) : paths(rest)

const BUILD = { isBuild: true } as const
const JAVA: Naming = {
  long: 'cp classpath class-path p module-path upgrade-module-path jar processorpath processor-path processor-module-path',
  words: firstOf(words => words.filter(word => isArchive(word) || isSource(word))),
}
const CONFIGURED: Naming = {
  ...BUILD,
  short: 'c',
  long: 'config root rootDir root-dir rootdir confcutdir config-file require import',
}
const TESTS: Naming = { ...CONFIGURED, words: paths }
const INSTALLS: Naming = { ...BUILD, short: 'C', long: 'prefix dir cwd', words: installed }

/** Grouped by shared option syntax. */
const NAMINGS: readonly [RegExp, Naming][] = [
  [/^(?:g|b)?make$/, { ...BUILD, short: 'CfI', long: 'directory file makefile include-dir' }],
  [/^ninja$/, { ...BUILD, short: 'Cf' }],
  [
    /^cmake$/,
    { ...BUILD, short: 'SPC', long: 'build install toolchain open', words: firstOf(paths) },
  ],
  [/^ctest$/, { ...BUILD, short: 'S', long: 'test-dir script build-and-test' }],
  [/^meson$/, { ...BUILD, short: 'C', words: paths }],
  [/^just$/, { ...BUILD, short: 'fd', long: 'justfile working-directory' }],
  [/^task$/, { ...BUILD, short: 'dt', long: 'dir taskfile' }],
  [/^mage$/, { ...BUILD, short: 'dw' }],
  [/^rake$/, { ...BUILD, short: 'fRrI', long: 'rakefile rakelibdir libdir require directory' }],
  [
    /^gradlew?$/,
    {
      ...BUILD,
      short: 'pbcI',
      long: 'project-dir build-file settings-file init-script include-build',
    },
  ],
  [/^mvn[dw]?$/, { ...BUILD, short: 'f', long: 'file' }],
  [/^ant$/, { ...BUILD, short: 'f', long: 'buildfile file lib' }],
  [/^scons$/, { ...BUILD, short: 'Cf', long: 'directory file sconstruct' }],
  [/^tox$/, { ...BUILD, short: 'c', long: 'conf root workdir' }],
  [/^nox$/, { ...BUILD, short: 'f', long: 'noxfile' }],
  [/^(?:npm|pnpm|yarn|yarnpkg|npx|pnpx|bunx|bun)$/, INSTALLS],
  [/^cargo$/, { ...BUILD, short: 'C', long: 'manifest-path path' }],
  [/^go$/, { ...BUILD, short: 'C', words: goPackages }],
  [/^composer$/, { ...BUILD, short: 'd', long: 'working-dir' }],
  [/^bundler?$/, { ...BUILD, long: 'gemfile' }],
  [
    /^(?:pip[\d.]*|pipx|uv|uvx|poetry|pdm|rye|hatch|pipenv)$/,
    {
      ...BUILD,
      short: 'Cer',
      long: 'directory project editable requirement from with',
      words: installed,
    },
  ],
  [/^gem$/, { words: words => [...paths(words), ...archives(words)] }],
  [
    /^dotnet$/,
    {
      ...BUILD,
      long: 'project',
      words: words =>
        words[0] === 'run'
          ? []
          : words.filter(word => isPath(word) || isArchive(word) || isSource(word)).slice(0, 1),
    },
  ],
  [/^msbuild$/, { ...BUILD, words: paths }],
  [/^deno$/, { ...BUILD, short: 'c', long: 'config cwd import-map' }],
  [/^(?:docker|docker-compose|podman)$/, {}],
  [/^(?:terraform|tofu|terragrunt)$/, { ...BUILD, long: 'chdir' }],
  [/^swift$/, { ...BUILD, long: 'package-path chdir' }],
  [/^zig$/, { ...BUILD, long: 'build-file', words: started }],
  [/^(?:dart|v|nim|crystal|ocaml|gleam|odin)$/, { ...BUILD, words: started }],
  [/^(?:stack|cabal)$/, { ...BUILD, long: 'stack-yaml project-file' }],
  [/^xcodebuild$/, { ...BUILD, long: 'project workspace' }],
  [/^(?:sbt|lein|mix|rebar3|dune|flutter|rails|artisan|symfony)$/, BUILD],
  [/^(?:pytest|py\.test|rspec|mocha|ava|tap|phpunit|pest|bats|jest|vitest|playwright)$/, TESTS],
  [
    /^(?:vite|webpack|webpack-cli|rollup|eslint|prettier|cypress|karma|next|nuxt|astro|gatsby|turbo|nx|lerna|tsup|storybook|gulp|grunt|babel|postcss|tailwindcss|ng)$/,
    CONFIGURED,
  ],
  [/^(?:javaw?|javac|kotlinc?|scalac?|groovy|jshell|clojure|clj|jdb)$/, JAVA],
  [/^(?:python|pypy)[\d.]*$/, { words: archives }],
  [/^perl[\d.]*$/, { short: 'I' }],
  [/^(?:j?ruby)[\d.]*$/, { short: 'Ir', long: 'require' }],
  [/^(?:lua|luajit)[\d.]*$/, { short: 'l' }],
  [/^(?:php|hhvm)[\d.]*$/, { short: 'cz', long: 'php-ini zend-extension', words: archives }],
]

/** Files in a package manager's cache are dependencies of any project. */
const CACHED =
  /\/(?:\.m2\/repository|\.gradle\/(?:caches|wrapper)|\.ivy2|\.cache\/coursier|\.nuget\/packages|\.cargo\/registry|go\/pkg\/mod|\.sdkman\/candidates|\.jdks)\//

/** Values of `name=value` options: `-d extension=x.so`, `-Djava.library.path=x`, `-Xbootclasspath/a:x`. */
const SETTING =
  /^(?:-d|-z)?(?:auto_(?:prepend|append)_file|(?:zend_)?extension(?:_dir)?|include_path|-D(?:java\.(?:library\.path|ext\.dirs|class\.path)|jna\.library\.path|jna\.boot\.library\.path)|-Xbootclasspath(?:\/[ap])?)[=:](.+)$/

const valuesOf = (args: readonly string[], { short = '', long = '' }: Naming): string[] => {
  const longs = new Set(long.split(' '))
  return args.flatMap((arg, at) => {
    const setting = SETTING.exec(arg)
    if (setting) return [setting[1] ?? '']
    const [, name = '', value] = /^--?([\w-]+)(?:=([\s\S]*))?$/.exec(arg) ?? []
    if (name !== '' && longs.has(name)) return [value ?? args[at + 1] ?? '']
    if (!/^-[a-zA-Z]/.test(arg) || !short.includes(arg[1] ?? '')) return []
    return [arg.length > 2 ? arg.slice(2).replace(/^=/, '') : (args[at + 1] ?? '')]
  })
}

/** Options whose value is an output path. */
const OUTPUT =
  /^--?(?:prefix|o|out|output|outfile|outputFile|out-?dir|output-dir\w*|d|w|dest|destdir|wheel-dir|\w*profile|trace|junit-?xml|basetemp|results-directory|artifacts-path|target-dir|cache-dir|cache|store-dir|pack-destination|log|log-?file|report|coverageDirectory|html|json|xml|diag|logger|reporter-options?)$/

/** Everything after `--` belongs to the started program. */
const ownArgs = (name: string, args: readonly string[]): readonly string[] => {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  if (
    !/^(?:javaw?|kotlin|scala|php|hhvm|python[\d.]*|pypy[\d.]*|perl[\d.]*|j?ruby[\d.]*)$/.test(name)
  )
    return own
  // Words after the program are its own arguments.
  const at = own.findIndex(
    (arg, next) =>
      !arg.startsWith('-') &&
      !/^-{1,2}(?:cp|classpath|class-path|p|module-path|[dczIXWrCSt]|require)$/.test(
        own[next - 1] ?? '',
      ),
  )
  return at < 0 ? own : own.slice(0, at + 1)
}

/** A compose file decides what is mounted. */
const composeArgs = ({ name, args }: SimpleCommand): string[] => {
  const at = name === 'docker-compose' ? 0 : args.indexOf('compose') + 1
  return at === 0 && name !== 'docker-compose'
    ? []
    : valuesOf(args.slice(at), { short: 'f', long: 'file project-directory' })
}

/** Only copies files, runs nothing. */
const isOnlyRead = ({ name, args }: SimpleCommand): boolean =>
  args.some(arg => /^(?:--version|-V|--help|-h|version|help)$/.test(arg)) &&
  args.length <= 2 &&
  name !== 'java'

const namingOf = (name: string): Naming | undefined =>
  NAMINGS.find(([names]) => names.test(name))?.[1]

/** Paths of code that would run unchecked. */
export const namedPrograms = (simple: SimpleCommand): string[] => {
  const { name } = simple
  const naming = namingOf(name)
  if (!naming || isOnlyRead(simple)) return []
  const args = ownArgs(name, simple.args)
  const words = args.filter(
    (arg, at) =>
      !/^[-+]/.test(arg) && !OUTPUT.test(args[at - 1] ?? '') && !/^-C$/.test(args[at - 1] ?? ''),
  )
  return [...valuesOf(args, naming), ...composeArgs(simple), ...(naming.words?.(words) ?? [])]
    .flatMap(value => (/^[a-z][a-z0-9+.-]+:\/\//i.test(value) ? [] : value.split(/[:;](?!\\)/)))
    .map(value => value.replace(/^file:/, '').split('::')[0] ?? '')
    .filter(value => value !== '')
}

/** Whether it is a path of a program or a project, not a name on PATH, a number, or a word. */
const isPlace = (value: string): boolean =>
  /[/~]|^\.\.?$/.test(value) || isArchive(value) || hasUnknown(value)

/** Whether any of these is outside the workspace or unknown before it runs. */
export const runsElsewhere = (
  simple: SimpleCommand,
  context: ShellContext,
): 'outside' | 'unknown' | null => {
  const { name, cwd } = simple
  const isOutside = (path: string): boolean => {
    const full = absolute(path, cwd, context)
    return (
      full !== null &&
      !isInWorkspace(full, context) &&
      !isProgramDirectory(full) &&
      !CACHED.test(`${full}/`)
    )
  }
  const naming = namingOf(name)
  // A build file that is downloaded and run.
  if (naming?.isBuild && valuesOf(simple.args, naming).some(value => /^https?:/i.test(value)))
    return 'outside'
  if (
    naming === JAVA &&
    simple.args.some(arg => /^https?:\/\/\S+\.(?:groovy|jar|jsh|kts|java)$/i.test(arg))
  )
    return 'outside'
  const named = namedPrograms(simple).filter(isPlace)
  if (named.some(isOutside)) return 'outside'
  if (named.some(path => hasUnknown(path) && !/^[\w./-]/.test(path))) return 'unknown'
  if (naming?.isBuild && !isOnlyRead(simple) && cwd !== null && isOutside('.')) return 'outside'
  return null
}
