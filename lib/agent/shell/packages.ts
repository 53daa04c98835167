/** Package managers and subcommands of larger tools: which are ordinary work and which need approval. */
import { hasUnknown } from './syntax.ts'
import { READ_ONLY_VERBS, verbLabels } from './package-verbs.ts'
import type { SimpleCommand } from './types.ts'

const DOWNLOADED = 'run downloaded code'
const SYSTEM = 'system administration'
const CLOUD = 'cloud or cluster change'
const PUBLISHES = 'publish to others'
const COMMAND = 'program starts another command'

/** Well-known packages that `npx` and similar tools may fetch. */
const WELL_KNOWN =
  /^(?:@(?:biomejs|playwright|angular|nestjs|storybook|tailwindcss|changesets|commitlint|redocly|openapitools|graphql-codegen|microsoft|typescript-eslint|vue|sveltejs|astrojs|modelcontextprotocol|types|babel|swc|cspell|eslint|stoplight)\/[\w.-]+|tsc|typescript|tsx|ts-node|eslint|prettier|jest|vitest|mocha|ava|tap|c8|nyc|playwright|cypress|biome|oxlint|stylelint|webpack|webpack-cli|vite|rollup|esbuild|parcel|turbo|nx|lerna|next|nuxt|nuxi|astro|gatsby|remix|ng|vue-tsc|tsup|tsd|typedoc|knip|depcheck|madge|lint-staged|husky|commitlint|changeset|postcss|sass|tailwindcss|json-server|serve|http-server|live-server|concurrently|npm-run-all|wait-on|nodemon|npm-check-updates|ncu|syncpack|sort-package-json|publint|attw|markdownlint|markdownlint-cli|markdownlint-cli2|cspell|prisma|drizzle-kit|knex|swagger-cli|create-(?:vite|vite-extra|next-app|react-app|react-router|vue|svelte|astro|remix|t3-app|t3-turbo|expo-app|expo|nuxt|docusaurus|tauri-app|preact|solid|qwik|hono|cloudflare|fastify|turbo|nx-workspace|electron-vite|rspack|rsbuild|farm|react-native-app|react-native-library|strapi-app|strapi|medusa-app|payload-app|sanity|docz-app|gatsby|gatsby-plugin|storybook|playwright|eslint-config|typescript-app|node-app|express-api|mcp-server|typescript-server)|degit|serverless-offline|mkdirp|cross-env|cowsay|size-limit|lighthouse|pyright|shadcn|expo|react-native|svelte-check|jsdoc|standard|xo|semver|license-checker|source-map-explorer|bundle-phobia|speccy|spectral|autocannon|clinic|0x)(?:@[\w.^~<>=*-]+)?$/

const URL_SPEC =
  /^(?:git\+|https?:|git:|ssh:|git@|github:|gitlab:|bitbucket:|gist:|svn\+|hg\+|bzr\+|file:\/\/)|@\s*(?:git\+|https?:)|\.(?:tgz|tar\.gz|whl|zip)$|^[\w.-]+\/[\w.-]+(?:#.*)?$/i

const wordsOf = (args: readonly string[]): string[] => args.filter(arg => !arg.startsWith('-'))

const VALUE_OPTIONS =
  /^(?:-C|--prefix|--dir|--cwd|--filter|-F|-w|--workspace|--registry|--userconfig|--loglevel|--package|-p|--store-dir|--cache|--directory)$/

/** Subcommands, without option values. */
const verbsOf = (args: readonly string[]): string[] =>
  args.filter((arg, at) => !arg.startsWith('-') && !VALUE_OPTIONS.test(args[at - 1] ?? ''))

/** `npm create x` starts `create-x`, `@x` starts `@x/create`. */
const creator = (spec: string): string =>
  spec.startsWith('@') ? (spec.includes('/') ? spec : `${spec}/create`) : `create-${spec}`

/** The arguments before the program that npx starts; a later `-p` is the program's own. */
const beforeProgram = (args: readonly string[]): readonly string[] => {
  const at = args.findIndex(
    (arg, next) =>
      !arg.startsWith('-') &&
      !/^(?:-p|--package|-c|--call|--shell|-w|--workspace)$/.test(args[next - 1] ?? ''),
  )
  return at < 0 ? args : args.slice(0, at)
}

const node = (
  name: string,
  args: readonly string[],
  hasLocal: (program: string) => boolean,
): string[] => {
  const words = verbsOf(args)
  const [verb = '', ...rest] = words
  const fetched = (program: string | undefined): string[] =>
    program === undefined || hasUnknown(program)
      ? [COMMAND]
      : WELL_KNOWN.test(program) || hasLocal(program)
        ? []
        : [DOWNLOADED]
  if (
    args.some(
      arg =>
        /^--(?:script-shell|shell|node-options|scripts-prepend|userconfig|globalconfig|registry)/.test(
          arg,
        ) && !/^--registry=https:\/\/registry\.npmjs\.org/.test(arg),
    )
  )
    return [COMMAND]
  if (/^(?:npx|pnpx|bunx)$/.test(name)) {
    const own = beforeProgram(args)
    const at = own.findIndex(arg => /^(?:-c|--call|--shell)$/.test(arg))
    const packages = own.flatMap((arg, next) =>
      /^(?:-p|--package)$/.test(arg)
        ? [own[next + 1] ?? '']
        : (/^--package=(.+)$/.exec(arg)?.[1] ?? []),
    )
    return [
      ...(at >= 0 ? [COMMAND] : []),
      ...packages.flatMap(fetched),
      ...(at >= 0 ? [] : fetched(words[0])),
    ]
  }
  if (/^(?:exec|dlx|x|create|init)$/.test(verb)) {
    if (verb === 'create' || verb === 'init')
      return rest.length > 0 && (verb === 'create' || name === 'npm')
        ? fetched(creator(rest[0] ?? ''))
        : []
    return args.some(arg => /^(?:-c|--call|--shell-mode|-c=)/.test(arg))
      ? [COMMAND]
      : fetched(rest[0])
  }
  if (
    /^(?:publish|unpublish|deprecate|dist-tag|owner|access|adduser|login|logout|token|team|org|profile|star|hook|unstar)$/.test(
      verb,
    ) &&
    !args.includes('--dry-run')
  )
    return [PUBLISHES]
  if (
    verb === 'set' ||
    (/^(?:config|c)$/.test(verb) && /^(?:set|delete|edit|fix)$/.test(rest[0] ?? ''))
  )
    return ['environment that changes other programs']
  if (
    verb === 'set-script' ||
    (verb === 'pkg' && rest[0] === 'set' && rest.some(word => /^scripts\./.test(word)))
  )
    return [COMMAND]
  const isInstall = /^(?:install|i|in|add|ci|isntall|update|up|upgrade|link|global)$/.test(verb)
  if (
    isInstall &&
    (args.some(arg => /^(?:-g|--global|--location=global)$/.test(arg)) || verb === 'global')
  )
    return [SYSTEM]
  if (
    isInstall &&
    rest.some(
      word =>
        URL_SPEC.test(word) &&
        !/^\.{0,2}\//.test(word) &&
        !/^@[\w.-]+\/[\w.-]+(?:@[\w.^~<>=*-]+)?$/.test(word),
    )
  )
    return [DOWNLOADED]
  return []
}

const pip = (args: readonly string[]): string[] => {
  const words = wordsOf(args)
  const verb = words.find(word => /^[a-z]+$/.test(word)) ?? ''
  if (verb === 'uninstall') return [SYSTEM]
  if (verb === 'config' && /^(?:set|unset|edit)$/.test(words[1] ?? ''))
    return ['environment that changes other programs']
  if (
    verb === 'install' ||
    verb === 'download' ||
    verb === 'wheel' ||
    verb === 'sync' ||
    verb === 'add' ||
    verb === 'tool' ||
    verb === 'inject' ||
    verb === 'run'
  ) {
    if (
      args.some(arg =>
        /^(?:-i|--index-url|--extra-index-url|-f|--find-links|--trusted-host|--(?:global|build|install)-option|--break-system-packages|--target|--prefix|--root)(?:=|$)/.test(
          arg,
        ),
      )
    )
      return [DOWNLOADED]
    if (
      words.slice(1).some(word => URL_SPEC.test(word) && !/^[./]/.test(word) && /[:@]/.test(word))
    )
      return [DOWNLOADED]
    if (words.slice(1).some(word => /^https?:|^git\+/.test(word))) return [DOWNLOADED]
  }
  if (verb === 'publish') return [PUBLISHES]
  return []
}

/** The package that `uvx`, `pipx`, or `uv tool` fetches; null otherwise. */
const pythonTool = (name: string, args: readonly string[]): string | null => {
  const words = wordsOf(args)
  if (name === 'uvx') return words[0] ?? ''
  const [verb = '', ...rest] = name === 'uv' && words[0] === 'tool' ? words.slice(1) : words
  const isTool = name === 'pipx' || (name === 'uv' && words[0] === 'tool')
  return isTool && /^(?:run|install|inject)$/.test(verb) ? (rest[0] ?? '') : null
}

/** Whether the first non-option word is a remote module (`example.org/x/tool@v1`, `https://…`). */
const isRemotePackage = ([, program = '']: readonly string[]): boolean =>
  !/^[./~]/.test(program) &&
  (/@[\w.-]+$/.test(program) || program.includes('://') || /^[\w-]+(?:\.[\w-]+)+\//.test(program))

const installsCrate = (words: readonly string[], args: readonly string[]): boolean => {
  const [verb = ''] = words.filter(word => !word.startsWith('+'))
  if (/^(?:binstall|generate|install-update)$/.test(verb)) return true
  return verb === 'install' && !args.some(arg => /^--(?:path|list)(?:=|$)/.test(arg))
}

/** Remote code that deno would run; caching or inspecting runs nothing. */
const deno = (args: readonly string[]): string[] => {
  const [verb = ''] = wordsOf(args)
  if (/^(?:add|cache|info|doc|fmt|lint|check|remove|outdated)$/.test(verb)) return []
  if (verb === 'upgrade') return [SYSTEM]
  return args.some(arg => /^(?:https?:|npm:|jsr:|data:)/i.test(arg)) ? [DOWNLOADED] : []
}

/** Subcommands that install a package globally. */
const INSTALLERS: Readonly<Record<string, RegExp>> = {
  gem: /^(?:exec|install|i|update)(?= |$)/,
  dotnet:
    /^(?:tool (?:install|update|exec|execute)|new (?:install|-i)|workload (?:install|update))(?= |$)/,
  luarocks: /^(?:install|build|make) (?!\.)/,
  cpanm: /^(?!\.)./,
  cpan: /./,
  nimble: /^install ./,
  raco: /^pkg install/,
  mix: /^(?:archive|escript)\.install/,
  cabal: /^install (?!\.|all)/,
  stack: /^install (?!\.)/,
  dart: /^pub global (?:activate|run)/,
  flutter: /^pub global (?:activate|run)/,
  asdf: /^plugin(?:-| )add/,
  volta: /^(?:install|run) ./,
  yarn: /^plugin import /,
  bun: /^(?:upgrade$|(?:run )?https?:)/,
}

/** Changes of bundler and composer outside the project. */
const dependencyTool = (name: string, args: readonly string[]): string[] => {
  const words = verbsOf(args).join(' ')
  const isConfig = /^config\b/.test(words)
  const isGlobal = args.some(arg => /^(?:--global|-g)$/.test(arg))
  if (isConfig && isGlobal) return ['environment that changes other programs']
  if (name === 'composer')
    return /^config (?:scripts|repositor)/.test(words)
      ? [COMMAND]
      : /^create-project (?!(?:laravel|symfony|drupal|roots|yiisoft|cakephp|slim|codeigniter4|laminas|typo3|craftcms|shopware|statamic)\/)\S/.test(
            words,
          )
        ? [DOWNLOADED]
        : []
  if (isConfig && /\b(?:mirror|build|gemfile)\b/.test(words))
    return ['environment that changes other programs']
  return /^plugin install /.test(words) ? [DOWNLOADED] : []
}

/** Reasons for approval; null for other programs. */
export const packageLabels = (
  { name, args }: SimpleCommand,
  hasLocal: (program: string) => boolean,
): string[] | null => {
  if (INSTALLERS[name]?.test(wordsOf(args).join(' '))) return [DOWNLOADED]
  if (
    /^(?:npm|npx|pnpm|pnpx|yarn|yarnpkg|bunx)$/.test(name) ||
    (name === 'bun' && !args.some(arg => /^(?:-e|--eval|-p)$/.test(arg)))
  )
    return node(name, args, hasLocal)
  const tool = pythonTool(name, args)
  if (tool !== null)
    return /^(?:ruff|black|mypy|pytest|flake8|isort|pyright|tox|nox|pre-commit|mkdocs|cookiecutter|poetry|hatch|twine|build|httpie|codespell|djlint|sqlfluff|yamllint|ty)(?:[@=<>].*)?$/.test(
      tool,
    )
      ? []
      : [DOWNLOADED]
  if (/^(?:pip[\d.]*|pipx|uv|pipenv|poetry|pdm|rye|hatch)$/.test(name))
    return [...pip(args), ...verbMatch(name, args)]
  if (name === 'go') {
    const words = verbsOf(args)
    if (/^(?:run|install)$/.test(words[0] ?? '') && isRemotePackage(words)) return [DOWNLOADED]
    if (words[0] === 'env' && args.some(arg => /^-[wu]$/.test(arg)))
      return ['environment that changes other programs']
    return words[0] === 'clean' && args.some(arg => /^-modcache|^-cache/.test(arg)) ? [] : []
  }
  if (name === 'cargo' && installsCrate(wordsOf(args), args)) return [DOWNLOADED]
  if (name === 'deno') return deno(args)
  if (name === 'bundle' || name === 'bundler' || name === 'composer') {
    const labels = dependencyTool(name, args)
    if (labels.length > 0) return labels
  }
  const looking = READ_ONLY_VERBS[name]
  if (looking) {
    const words = args.filter(arg => !arg.startsWith('-') || looking.test(arg))
    const system =
      /^(?:apt|dpkg|rpm|yum|dnf|zypper|pacman|yay|apk|snap|flatpak|port|emerge|softwareupdate|defaults|ufw|firewall|ip6?tables|nft|zfs|zpool|btrfs|fdisk|parted|modprobe|diskutil|nmcli|networksetup|scutil|security|dscl|nix)/
    const scheduled = name === 'crontab'
    return words.some(word => looking.test(word)) ||
      args.some(arg => /^--?(?:version|help)$/.test(arg))
      ? destroys(args)
      : args.length === 0 && !scheduled
        ? []
        : [
            scheduled
              ? 'scheduled command'
              : name === 'systemctl' ||
                  name === 'service' ||
                  name === 'launchctl' ||
                  name === 'supervisorctl' ||
                  name === 'pm2'
                ? 'stop/disable system service'
                : system.test(name)
                  ? SYSTEM
                  : CLOUD,
          ]
  }
  const matched = verbMatch(name, args)
  if (matched.length > 0 || name in verbLabels)
    return [...matched, ...containerLabels(name, args), ...apiLabels(name, args)]
  return null
}

const destroys = (args: readonly string[]): string[] =>
  args.some(arg =>
    /^(?:delete|destroy|rm|rb|terminate|purge|remove|mb|mv|sync|put|create|update|deploy)(?:-|$)/.test(
      arg,
    ),
  )
    ? [CLOUD]
    : []

const verbMatch = (name: string, args: readonly string[]): string[] => {
  const words = wordsOf(args).slice(0, 4)
  if (
    /^(?:gh|glab)$/.test(name) &&
    /^(?:list|view|status|diff|watch|checks|download)$/.test(words[1] ?? '')
  )
    return []
  return (verbLabels[name] ?? []).flatMap(([pattern, label]) =>
    words.some((word, at) => pattern.test(word) && (at < 2 || name === 'gh' || name === 'kubectl'))
      ? [label]
      : [],
  )
}

const apiLabels = (name: string, args: readonly string[]): string[] => {
  if (name === 'gh' || name === 'glab') {
    if (args[0] !== 'api')
      return args[0] === 'alias' ||
        args[0] === 'extension' ||
        (args[0] === 'auth' && args[1] === 'token')
        ? [COMMAND]
        : []
    const changes = args.some(
      (arg, at) =>
        (/^(?:-X|--method)$/.test(arg) && !/^GET$/i.test(args[at + 1] ?? '')) ||
        /^(?:-X(?!GET).|--method=(?!GET)|-f|-F|--field|--raw-field|--input)/i.test(arg),
    )
    return changes ? [PUBLISHES] : []
  }
  return name === 'terraform' &&
    args.some(arg => /^(?:rm|mv|push|replace-provider)$/.test(arg)) &&
    args.includes('state')
    ? [CLOUD]
    : []
}

/** Containers with access to the host. */
const containerLabels = (name: string, args: readonly string[]): string[] => {
  if (!/^(?:docker|podman|nerdctl)$/.test(name)) return []
  const isBroad = args.some((arg, at) => {
    const value = /^(?:-v|--volume|--mount)$/.test(arg)
      ? (args[at + 1] ?? '')
      : (/^(?:-v|--volume=|--mount=)(.+)$/.exec(arg)?.[1] ?? '')
    return (
      /^(?:\/|~|\/(?:etc|root|home|var|usr|boot|proc|sys|dev)(?:\/[\w.-]*)?|\/var\/run\/docker\.sock|\/run\/docker\.sock|[^:]*\.(?:ssh|aws|kube|docker)[^:]*):/.test(
        value,
      ) ||
      /(?:source|src)=(?:\/|~|\/(?:etc|root|home|var\/run\/docker\.sock)[^,]*)(?:,|$)/.test(
        value,
      ) ||
      (/^--net(?:work)?$/.test(arg) && args[at + 1] === 'host') ||
      /^--(?:privileged|net(?:work)?=host$|pid=host|ipc=host|userns=host|cap-add(?:=|$)|device(?:=|$)|security-opt(?:=|$))/.test(
        arg,
      )
    )
  })
  return isBroad ? ['device or container access'] : []
}
