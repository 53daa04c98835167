/** Follows a command line into everything it would run and collects the reasons for approval. */
import { blockedInCode, namesInParts, removedPaths, runsComputedText, textsIn } from './code.ts'
import { namedPrograms } from './outside-workspace.ts'
import { readGit } from './git.ts'
import { touchedFiles } from './touched-files.ts'
import { moduleRuns, type Runs, runsOf } from './interpreters.ts'
import { classifyCommand } from './classify.ts'
import { CODE_FLAG, CONTROL, ELSEWHERE, OWN_ADDRESS, SHELL_FLAG, UNCLEAR } from './labels.ts'
import {
  hasPackageIn,
  isBuildWrapper,
  isLocalProgram,
  isProjectPath,
  isProgramDirectory,
  languageOfFile,
  readScript,
} from './local-programs.ts'
import { blockedInUnclear } from './blocked-commands.ts'
import { reachesUs } from './network.ts'
import { absolute, controlIn, isSecret, kindOf } from './paths.ts'
import { projectTexts } from './project.ts'
import { startedIn } from './path-effects.ts'
import { readShell } from './walk.ts'
import { resolvePath, type Shell, type Trouble } from './state.ts'
import { hasUnknown, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'
import { innerCommands } from './wrappers.ts'

export type Inspection = {
  findings: Finding[]
  /** Every program of the text itself, in order, without nested ones. */
  commands: string[][]
  /** True if nothing in it changes anything. */
  isReadOnly: boolean
  isClear: boolean
  simples: SimpleCommand[]
}

const MAX_SCRIPTS = 6
const MAX_SIMPLES = 1_500

/** The user's own shell startup files. */
const OWN_STARTUP =
  /^(?:\.(?:bashrc|bash_profile|bash_aliases|profile|zshrc|zprofile|zshenv|nvm\/nvm\.sh|nvm\/bash_completion|cargo\/env|sdkman\/bin\/sdkman-init\.sh|asdf\/asdf\.sh|rvm\/scripts\/rvm|ghcup\/env|deno\/env|local\/bin\/env)|(?:mini|ana)conda3\/(?:etc\/profile\.d\/conda\.sh|bin\/activate)|emsdk\/emsdk_env\.sh|esp\/esp-idf\/export\.sh)$/
const ACTIVATES = /(?:^|\/)(?:\.?v?env[\w.-]*|[\w.-]*venv)\/(?:bin|Scripts)\/activate$/

/** Reasons that count even inside an ordinary build of the project. */
const GRAVE = new Set([
  CONTROL,
  OWN_ADDRESS,
  'delete outside the workspace',
  'delete in root path',
  'credential file read',
  'write to a startup or login file',
  'pipe remote content to shell',
  'decoded text piped to shell',
  'execute remote script via process substitution',
  'network shell',
  'scheduled command',
  'git configuration that runs programs',
  'write to block device',
])

/** Build tools: their output is a program of the project, which runs like its tests. */
const BUILDS =
  /^(?:make|gmake|cmake|ctest|ninja|meson|cargo|go|gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|ld|rustc|npm|pnpm|yarn|bun|tsc|dotnet|swift|swiftc|mvn|gradle|gradlew|mvnw|javac|zig|stack|cabal|ghc|dune|nim|bazel|configure|autoreconf|pytest|jest|vitest|eslint|prettier|sleep|timeout|env|time|sudo|nice|nohup)$/

const TROUBLE: Record<Trouble, Finding> = {
  syntax: { label: UNCLEAR, isUnclear: true },
  // It could write anything anywhere, so no approval mode may answer.
  'too complex': { label: UNCLEAR, isUnclear: true, isControl: true },
  nameref: { label: UNCLEAR, isUnclear: true },
  'field separator': { label: UNCLEAR, isUnclear: true },
  'fork bomb': { label: 'fork bomb', blocked: 'a fork bomb' },
}

export const inspect = (text: string, context: ShellContext): Inspection => {
  let findings: Finding[] = []
  const commands: string[][] = []
  const simples: SimpleCommand[] = []
  let isReadOnly = true
  let isClear = true
  let nested = 0
  let scripts = 0
  const running = new Set<string>()
  const hasPackage = hasPackageIn(context)

  const add = (label: string, more: Partial<Finding> = {}) => {
    findings.push({ label, ...more })
    if (more.isUnclear) isClear = false
  }
  const unclear = () => add(UNCLEAR, { isUnclear: true })

  /** Collects findings separately instead of adding them. */
  const apart = (run: () => void): Finding[] => {
    const before = findings
    const wasClear = isClear
    findings = []
    run()
    const found = findings
    findings = before
    isClear = wasClear
    return found
  }
  const keep = (found: readonly Finding[]) => {
    for (const { label, ...more } of found) add(label, more)
  }

  const code = (source: string, shell: Shell, isInline: boolean): void => {
    if (isInline) add(CODE_FLAG)
    const reason = blockedInCode(source)
    if (reason !== undefined) add(CODE_FLAG, { blocked: reason })
    if (runsComputedText(source)) unclear()
    for (const { text: literal, isRun } of textsIn(source)) {
      if (!isRun && !/\s/.test(literal.trim())) {
        if (isInline || literal.includes('/')) literalPath(literal, shell)
        continue
      }
      const found = apart(() => {
        if (literal.length < 20_000) shell.run(literal.replace(/\\(["'])/g, '$1'))
      })
      // Words that aren't run prove too little: "reboot when done" is a sentence.
      const deadly = found.filter(
        ({ blocked: why }) => why !== undefined && (isRun || why !== 'shutting the machine down'),
      )
      keep(deadly)
      if (isRun)
        keep(
          found.filter(
            each =>
              !each.isUnclear &&
              each.blocked === undefined &&
              each.label !== SHELL_FLAG &&
              (isInline || each.label !== CODE_FLAG),
          ),
        )
    }
    for (const path of removedPaths(source)) {
      const kind = kindOf(path, shell.cwd, context)
      if (kind !== 'workspace' && kind !== 'temporary') add('delete outside the workspace')
    }
    if (
      context.ownAddresses?.length &&
      reachesUs(source, context.ownAddresses) &&
      /localhost|127\.\d|0\.0\.0\.0|::1|gethostname|AGENT_|HERMES_/.test(source)
    )
      add(OWN_ADDRESS, { isControl: true })
    if (
      namesInParts(
        textsIn(source).map(({ text: literal }) => literal),
        context,
      )
    )
      add(CONTROL, { isControl: true })
    if (
      context.controlPaths?.length &&
      /\b(?:AGENT_HOME|AGENT_WEBUI_\w+|HERMES_HOME)\b/.test(source)
    )
      add(CONTROL, { isControl: true })
  }

  /** A script literal that names a protected path. */
  const literalPath = (literal: string, shell: Shell): void => {
    if (literal.length > 500) return
    if (
      controlIn(literal, shell.cwd, context) !== undefined ||
      context.controlPaths?.some(
        path =>
          literal.length > 5 &&
          path.endsWith(`/${literal.replace(/^[~.]?\//, '')}`) &&
          literal.includes('/'),
      )
    )
      add(CONTROL, { isControl: true })
    const full = absolute(literal, shell.cwd, context)
    if (full !== null && literal.includes('/') && isSecret(full, context))
      add('credential file read')
  }

  const inScript = (path: string, run: () => unknown): unknown => {
    if (running.has(path)) return
    if (++scripts > MAX_SCRIPTS) return unclear()
    running.add(path)
    nested++
    run()
    nested--
    running.delete(path)
  }

  const file = (
    path: string,
    simple: SimpleCommand,
    shell: Shell,
    more: { isSourced?: boolean; isCode?: boolean; args?: string[] },
  ): unknown => {
    // A script name that is only known at run time.
    if (hasUnknown(path)) return unclear()
    const full = resolvePath(path, { cwd: simple.cwd, context })
    if (full === null) return unclear()
    if (/[*?[]/.test(path)) return more.isCode ? undefined : unclear()
    if (/^\/(?:dev|proc)\//.test(full)) return unclear()
    if (
      more.isSourced &&
      (full.startsWith(`${context.home}/`)
        ? OWN_STARTUP.test(full.slice(context.home.length + 1))
        : /^\/etc\/(?:profile|bash\.bashrc|bashrc|profile\.d\/[\w.-]+)$/.test(full))
    )
      return
    const written = shell.files.get(full)
    if (written !== undefined) {
      if (written === null) return unclear()
      const isCode = more.isCode || languageOfFile(full, written) === 'code'
      return inScript(full, (): unknown =>
        isCode ? code(written, shell, true) : shell.run(written, more.args ?? []),
      )
    }
    const found = readScript(full)
    if (!found) {
      // It doesn't exist now; only an earlier command of this line could create it.
      if (
        (shell.mayHaveWritten || shell.hasWaited) &&
        !more.isCode &&
        !(more.isSourced && ACTIVATES.test(full))
      )
        unclear()
      else if (!isProjectPath(path, { cwd: simple.cwd, context }) && !more.isCode) unclear()
      return
    }
    if (shell.hasWaited) return unclear()
    if (found.isBinary) {
      if (kindOf(path, simple.cwd, context) !== 'workspace' || more.isCode || more.isSourced)
        unclear()
      return
    }
    const isCode = more.isCode || languageOfFile(full, found.text) === 'code'
    if (isCode && !isProjectPath(path, { cwd: simple.cwd, context }) && !isProgramDirectory(full))
      add(ELSEWHERE)
    inScript(full, () => {
      if (isCode) return code(found.text, shell, false)
      if (isBuildWrapper(full) || (more.isSourced && ACTIVATES.test(full))) {
        const reasons = apart(() =>
          found.isWhole && found.text.length < 60_000
            ? shell.run(found.text, more.args ?? null)
            : undefined,
        )
        return keep(
          reasons.filter(({ label, blocked }) => blocked !== undefined || GRAVE.has(label)),
        )
      }
      if (!found.isWhole) return unclear()
      shell.run(found.text, more.args ?? [])
    })
  }

  const follow = (runs: readonly Runs[], simple: SimpleCommand, shell: Shell): void => {
    for (const each of runs) {
      switch (each.kind) {
        case 'unknown':
          unclear()
          break
        case 'shell':
          if (each.text.trim() === '') break
          if (each.text.startsWith(UNKNOWN) || /^[\0\u0001\s]+$/.test(each.text)) unclear()
          nested++
          shell.run(each.text, each.args ?? shell.positional)
          nested--
          break
        case 'code':
          nested++
          code(each.text, shell, true)
          nested--
          break
        case 'file':
          file(each.path, simple, shell, {
            isCode: each.language === 'code',
            ...(each.isSourced && { isSourced: true }),
            ...(each.args && { args: each.args }),
          })
      }
    }
  }

  const visit = (given: SimpleCommand, shell: Shell): void => {
    if (simples.length >= MAX_SIMPLES) {
      unclear()
      return
    }
    let simple = given
    const inner = innerCommands(simple)
    if (inner.length > 0) simple = { ...simple, wraps: true }
    simples.push(simple)
    if (nested === 0) commands.push([simple.path, ...simple.args])
    if (shell.aliases.has(simple.path)) unclear()
    const result = classifyCommand(simple, context, {
      hasPackage,
      hasQuoted: shell.hasQuoted,
      isLocalProgram: (path, cwd) => isLocalProgram(path, cwd, context),
      classifyFile: ({ path, args }) => {
        if (hasUnknown(path)) return unclear()
        if (!isProjectPath(path, { cwd: simple.cwd, context })) unclear()
        file(path, simple, shell, { args })
      },
    })
    for (const { label, ...more } of result.findings) add(label, more)
    if (!result.isReadOnly) isReadOnly = false
    nested++
    const [dir] = simple.wraps ? startedIn(simple) : []
    // Only the wrapped program starts there.
    const cwd = dir === undefined ? simple.cwd : resolvePath(dir, { cwd: simple.cwd, context })
    for (const each of inner) {
      if ('text' in each) {
        if (each.text.startsWith(UNKNOWN) || each.text.startsWith('\u0001')) unclear()
        shell.run(each.text)
        continue
      }
      const [path = '', ...args] = each.words
      const name =
        hasUnknown(path) || /[*?]/.test(path)
          ? UNKNOWN
          : (path.split('/').at(-1) ?? '').toLowerCase()
      visit(
        {
          ...simple,
          cwd,
          name,
          path,
          args,
          redirects: [],
          assigns: each.assigns ?? [],
          wraps: false,
        },
        shell,
      )
    }
    nested--
    const git = simple.name === 'git' ? readGit(simple.args).runs : []
    follow([...runsOf(simple), ...git, ...moduleRuns(simple)], simple, shell)
    if (namedPrograms(simple).some(path => isFresh(path, simple, shell))) unclear()
    for (const text of projectTexts(simple, shell)) {
      if (text === null) unclear()
      else {
        nested++
        const reasons = apart(() => shell.run(text))
        nested--
        keep(reasons.filter(({ label, blocked }) => blocked !== undefined || GRAVE.has(label)))
      }
    }
    remember(simple, shell, result.isReadOnly)
  }

  /** Whether this command line itself created the program from unchecked content. */
  const isFresh = (path: string, simple: SimpleCommand, shell: Shell): boolean => {
    const full = hasUnknown(path) ? null : resolvePath(path, { cwd: simple.cwd, context })
    return full !== null && shell.files.has(full)
  }

  /** Records written files, because a later command may run them. */
  const remember = (simple: SimpleCommand, shell: Shell, isQuiet: boolean): void => {
    if (isQuiet) return
    const { writes, fills } = touchedFiles(simple)
    if (
      !BUILDS.test(simple.name) &&
      !/^(?:cd|pushd|popd|export|set|mkdir|touch|chmod|source|\.|true|echo|printf)$/.test(
        simple.name,
      )
    )
      shell.mayHaveWritten = true
    if (/^(?:chmod|chown|chgrp|touch|mkdir)$/.test(simple.name)) return
    const redirected = new Set(simple.redirects.map(({ target }) => target))
    for (const path of writes) {
      const full = redirected.has(path) ? null : resolvePath(path, { cwd: simple.cwd, context })
      if (full === null || BUILDS.test(simple.name)) continue
      shell.files.set(
        full,
        simple.name === 'tee' && typeof simple.input === 'string' ? simple.input : null,
      )
    }
    if (fills.length > 0 && /^(?:tar|bsdtar|unzip|7za?|unrar|cpio|patch|rsync)$/.test(simple.name))
      shell.hasWaited = true
  }

  const isWhole = readShell(text, context, {
    visit,
    report: what => {
      const { label, ...more } = TROUBLE[what]
      add(label, more)
    },
  })
  if (!isWhole) isClear = false
  if (!isClear || findings.some(({ label }) => label === CODE_FLAG)) {
    const reason = isClear ? undefined : blockedInUnclear(text, simples)
    if (reason !== undefined) add(UNCLEAR, { blocked: reason })
  }
  return {
    findings,
    commands,
    isReadOnly: isReadOnly && findings.length === 0 && simples.length > 0,
    isClear,
    simples,
  }
}
