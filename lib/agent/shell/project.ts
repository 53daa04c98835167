/** Shell commands in project files (package.json, makefiles) that a build tool would run. */
import { join } from 'node:path/posix'
import { readScript } from './local-programs.ts'
import { resolvePath, type Shell } from './state.ts'
import { DATA } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

const MAX_LINES = 400

const BUILD_FILES: Readonly<Record<string, readonly string[]>> = {
  make: ['Makefile', 'makefile', 'GNUmakefile'],
  gmake: ['Makefile', 'makefile', 'GNUmakefile'],
  npm: ['package.json', '.npmrc'],
  pnpm: ['package.json', '.npmrc'],
  yarn: ['package.json', '.yarnrc.yml', '.yarnrc'],
  bun: ['package.json', 'bunfig.toml'],
  npx: ['package.json', '.npmrc'],
  node: ['package.json'],
  just: ['justfile', 'Justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml'],
  rake: ['Rakefile'],
  cargo: ['Cargo.toml', 'build.rs', '.cargo/config.toml'],
  pytest: ['conftest.py', 'pytest.ini', 'pyproject.toml', 'setup.cfg', 'tox.ini'],
  tox: ['tox.ini'],
  pip: ['setup.py', 'pyproject.toml'],
  pip3: ['setup.py', 'pyproject.toml'],
  gradle: ['build.gradle', 'build.gradle.kts', 'settings.gradle'],
  mvn: ['pom.xml'],
  cmake: ['CMakeLists.txt'],
  'docker-compose': ['docker-compose.yml', 'compose.yml'],
  vitest: ['vitest.config.ts', 'vite.config.ts'],
  vite: ['vite.config.ts', 'vite.config.js'],
  jest: ['jest.config.js', 'package.json'],
  eslint: ['eslint.config.js', '.eslintrc.js'],
}

/** Recipes of a makefile as shell text; make variables are unknown. */
const recipes = (text: string, home: string): string =>
  text
    .split('\n')
    .filter(line => line.startsWith('\t') || /^\S.*:.*;/.test(line))
    .slice(0, MAX_LINES)
    .map(line =>
      line
        .replace(/^\t[@+-]*|^\S.*?;/, '')
        .replace(/\$[({]HOME[)}]/g, home)
        .replace(/\$\$/g, '\u0002')
        .replace(/\$[({][^(){}]*[)}]|\$./g, DATA)
        .replaceAll('\u0002', '$'),
    )
    .join('\n')

const scriptOf = (text: string, name: string): string[] => {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: Record<string, unknown> }
    return [`pre${name}`, name, `post${name}`].flatMap(key =>
      typeof scripts?.[key] === 'string' ? [scripts[key]] : [],
    )
  } catch {
    // Invalid JSON: the tool itself will fail.
    return []
  }
}

/** Options of package managers with a value in the next word. */
const TAKES_VALUE = /^(?:-[Cw]|--(?:prefix|cwd|dir|workspace|filter|loglevel|script-shell))$/

/** The package.json scripts that would run. Managers other than npm also take the name of a script as a subcommand. */
const scriptNames = ({ name, args }: SimpleCommand): string[] => {
  if (name === 'node') return flag(args, /^--run$/)?.split(' ') ?? []
  const words = args.filter(
    (arg, at) => !arg.startsWith('-') && !TAKES_VALUE.test(args[at - 1] ?? ''),
  )
  const [verb = '', next = ''] = words
  if (/^(?:run|run-script|rum|urn)$/.test(verb)) return [next]
  if (/^(?:test|t|tst)$/.test(verb)) return ['test']
  if (/^(?:install|i|ci|add)$/.test(verb)) return ['install']
  return name !== 'npm' ||
    /^(?:start|stop|restart|build|dev|lint|format|prepare|publish|pack)$/.test(verb)
    ? [verb]
    : []
}

const flag = (args: readonly string[], option: RegExp): string | undefined =>
  args.flatMap((arg, at) =>
    option.test(arg)
      ? [args[at + 1] ?? '']
      : /^(?:-[fC]|--[\w-]+=)(.+)$/.exec(arg)?.[1] &&
          option.test(arg.replace(/=.*|(?<=^-[fC]).*/s, ''))
        ? [/^(?:-[fC]|--[\w-]+=)(.+)$/.exec(arg)?.[1] ?? '']
        : [],
  )[0]

/** Shell texts; null for one that this command line itself generates. */
export const projectTexts = (simple: SimpleCommand, shell: Shell): (string | null)[] => {
  const { name, args, cwd } = simple
  const files = BUILD_FILES[name]
  if (!files || cwd === null) return []
  if (name === 'node' && !args.some(arg => arg.startsWith('--run'))) return []
  const isMake = name === 'make' || name === 'gmake'
  const dir = flag(args, isMake ? /^(?:-C|--directory)$/ : /^(?:-C|--prefix|--cwd|--dir)$/) ?? '.'
  const base = resolvePath(dir, { cwd, context: shell.context })
  if (base === null) return []
  const named = isMake ? flag(args, /^(?:-f|--file|--makefile)$/) : undefined
  return (named ? [named] : files).flatMap((file): (string | null)[] => {
    const path = named
      ? resolvePath(named, { cwd: base, context: shell.context })
      : join(base, file)
    if (path === null) return [null]
    const written = shell.files.get(path)
    if (written === null) return [null]
    const text = written ?? readScript(path)?.text
    if (text === undefined) return []
    if (isMake) return [recipes(text, shell.context.home)]
    if (file === 'package.json')
      return scriptNames(simple).flatMap(script => scriptOf(text, script))
    // Other project files are code: written and run by the same command, they count as an inline script.
    return written === undefined ? [] : [null]
  })
}
