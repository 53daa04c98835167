/** Follows a command line into everything it would run and collects the reasons for approval. */
import { basename } from 'node:path/posix'
import { realPath } from '../../store/path-within.ts'
import { namedPrograms } from './outside-workspace.ts'
import { readGit } from './git.ts'
import { touchedFiles } from './touched-files.ts'
import { moduleRuns, type Runs, runsOf } from './interpreters.ts'
import { classifyCommand } from './classify.ts'
import { Findings, isSevere } from './findings.ts'
import { inspectCode } from './inspect-code.ts'
import { CODE_FLAG, ELSEWHERE, UNCLEAR, unrecognizedName } from './labels.ts'
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
import { kindOf } from './paths.ts'
import { projectTexts } from './project.ts'
import { projectProgram } from './project-programs.ts'
import { READ_ONLY } from './programs.ts'
import { startedIn } from './path-effects.ts'
import { readShell } from './walk.ts'
import { resolvePath, type Shell, type Trouble } from './state.ts'
import { hasUnknown, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'
import { innerCommands, takesUnknownLines } from './wrappers.ts'

export type Inspection = {
  findings: Finding[]
  /** Every program of the text itself, in order, without nested ones. */
  parts: SimpleCommand[]
  /** True if nothing in it changes anything. */
  isReadOnly: boolean
  isClear: boolean
  /** Every program that it starts is known, whether or not it is known what that program does. */
  isFollowed: boolean
  simples: SimpleCommand[]
}

const MAX_SCRIPTS = 6
const MAX_SIMPLES = 1_500

/** The user's own shell startup files. */
const OWN_STARTUP =
  /^(?:\.(?:bashrc|bash_profile|bash_aliases|profile|zshrc|zprofile|zshenv|nvm\/nvm\.sh|nvm\/bash_completion|cargo\/env|sdkman\/bin\/sdkman-init\.sh|asdf\/asdf\.sh|rvm\/scripts\/rvm|ghcup\/env|deno\/env|local\/bin\/env)|(?:mini|ana)conda3\/(?:etc\/profile\.d\/conda\.sh|bin\/activate)|emsdk\/emsdk_env\.sh|esp\/esp-idf\/export\.sh)$/
const ACTIVATES = /(?:^|\/)(?:\.?v?env[\w.-]*|[\w.-]*venv)\/(?:bin|Scripts)\/activate$/

/** Build tools: their output is a program of the project, which runs like its tests. */
const BUILDS =
  /^(?:make|gmake|cmake|ctest|ninja|meson|cargo|go|gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|ld|rustc|npm|pnpm|yarn|bun|tsc|dotnet|swift|swiftc|mvn|gradle|gradlew|mvnw|javac|zig|stack|cabal|ghc|dune|nim|bazel|configure|autoreconf|pytest|jest|vitest|eslint|prettier|sleep|timeout|env|time|sudo|nice|nohup)$/

/** `python3.12` is `python`. */
const withoutVersion = (name: string): string => name.replace(/-?[\d.]+$/, '')

const TROUBLE: Record<Trouble, Finding> = {
  syntax: { label: UNCLEAR, isUnclear: true },
  // It could write anything anywhere, so no approval mode may answer.
  'too complex': { label: UNCLEAR, isUnclear: true, isControl: true },
  nameref: { label: UNCLEAR, isUnclear: true },
  'fork bomb': { label: 'fork bomb', blocked: 'a fork bomb' },
}

/** Inspects a command text: what it would run, and why that needs approval. */
export const inspect = (text: string, context: ShellContext): Inspection =>
  new Inspector(context).inspect(text)

class Inspector {
  readonly #context: ShellContext
  readonly #findings = new Findings()
  readonly #parts: SimpleCommand[] = []
  readonly #simples: SimpleCommand[] = []
  readonly #hasPackage: (program: string) => boolean
  #isReadOnly = true
  /** Depth below the text itself. */
  #nested = 0
  /** Scripts opened, and the paths of those being followed. */
  #scripts = 0
  readonly #running = new Set<string>()

  constructor(context: ShellContext) {
    this.#context = context
    this.#hasPackage = hasPackageIn(context)
  }

  inspect(text: string): Inspection {
    const findings = this.#findings
    const isWhole = readShell(text, this.#context, {
      visit: (simple, shell) => this.#visit(simple, shell),
      report: what => findings.addAll([TROUBLE[what]]),
    })
    if (!isWhole) findings.isClear = false
    const { isClear } = findings
    if (!isClear || findings.list.some(({ label }) => label === CODE_FLAG)) {
      const blocked = isClear ? undefined : blockedInUnclear(text, this.#simples)
      if (blocked !== undefined) findings.add(UNCLEAR, { blocked })
    }
    return {
      findings: findings.list,
      parts: this.#parts,
      isReadOnly: this.#isReadOnly && findings.list.length === 0 && this.#simples.length > 0,
      isClear,
      isFollowed:
        isWhole &&
        findings.list.every(
          ({ isUnclear, label }) => !isUnclear || unrecognizedName(label) !== null,
        ),
      simples: this.#simples,
    }
  }

  /** Follows a script, unless it is being followed already. */
  #once(path: string, run: () => unknown): unknown {
    if (this.#running.has(path)) return
    if (++this.#scripts > MAX_SCRIPTS) return this.#findings.addUnclear()
    this.#running.add(path)
    this.#nested++
    run()
    this.#nested--
    this.#running.delete(path)
  }

  /** Follows the content of a script file. */
  #file(
    path: string,
    simple: SimpleCommand,
    shell: Shell,
    more: { isSourced?: boolean; isCode?: boolean; args?: string[] },
  ): unknown {
    // A script name that is only known at run time.
    if (hasUnknown(path)) return this.#findings.addUnclear()
    const full = this.#resolve(path, simple)
    if (full === null) return this.#findings.addUnclear()
    if (/[*?[]/.test(path)) return more.isCode ? undefined : this.#findings.addUnclear()
    if (/^\/(?:dev|proc)\//.test(full)) return this.#findings.addUnclear()
    if (
      more.isSourced &&
      (full.startsWith(`${this.#context.home}/`)
        ? OWN_STARTUP.test(full.slice(this.#context.home.length + 1))
        : /^\/etc\/(?:profile|bash\.bashrc|bashrc|profile\.d\/[\w.-]+)$/.test(full))
    )
      return
    const written = shell.files.get(full)
    if (written !== undefined) {
      if (written === null) return this.#findings.addUnclear()
      const isCode = more.isCode || languageOfFile(full, written) === 'code'
      return this.#once(full, (): unknown =>
        isCode
          ? inspectCode(written, shell, this.#findings, true)
          : shell.run(written, more.args ?? []),
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
        this.#findings.addUnclear()
      else if (!this.#isProjectPath(path, simple) && !more.isCode) this.#findings.addUnclear()
      return
    }
    if (shell.hasWaited) return this.#findings.addUnclear()
    if (found.isBinary) {
      if (kindOf(path, simple.cwd, this.#context) !== 'workspace' || more.isCode || more.isSourced)
        this.#findings.addUnclear()
      return
    }
    const isCode = more.isCode || languageOfFile(full, found.text) === 'code'
    if (isCode && !this.#isProjectPath(path, simple) && !isProgramDirectory(full))
      this.#findings.add(ELSEWHERE)
    this.#once(full, () => {
      if (isCode) return inspectCode(found.text, shell, this.#findings, false)
      if (isBuildWrapper(full) || (more.isSourced && ACTIVATES.test(full))) {
        const reasons = this.#findings.collect(() =>
          found.isWhole && found.text.length < 60_000
            ? shell.run(found.text, more.args ?? null)
            : undefined,
        )
        return this.#findings.addAll(reasons.filter(isSevere))
      }
      if (!found.isWhole) return this.#findings.addUnclear()
      shell.run(found.text, more.args ?? [])
    })
  }

  /** Follows what a program runs: shell text, code, and script files. */
  #follow(runs: readonly Runs[], simple: SimpleCommand, shell: Shell): void {
    for (const each of runs) {
      switch (each.kind) {
        case 'unknown':
          this.#findings.addUnclear()
          break
        case 'shell':
          if (each.text.trim() === '') break
          if (each.text.startsWith(UNKNOWN) || /^[\0\u0001\s]+$/.test(each.text))
            this.#findings.addUnclear()
          this.#nested++
          shell.run(each.text, each.args ?? shell.positional)
          this.#nested--
          break
        case 'code':
          this.#nested++
          inspectCode(each.text, shell, this.#findings, true)
          this.#nested--
          break
        case 'file':
          this.#file(each.path, simple, shell, {
            isCode: each.language === 'code',
            isSourced: each.isSourced,
            args: each.args,
          })
      }
    }
  }

  /** Follows a program of the project: it may have the name of a harmless one, or be a link to another one. */
  #projectProgram(simple: SimpleCommand, shell: Shell): void {
    const path = projectProgram(simple, shell)
    if (path === null) return
    this.#isReadOnly = false
    const reasons = this.#findings.collect(() => {
      if (this.#isProjectPath(path, simple))
        return this.#file(path, simple, shell, { args: simple.args })
      const target = realPath(path)
      const name = basename(target)
      if (!isProgramDirectory(target)) this.#findings.addUnclear()
      else if (withoutVersion(name) !== withoutVersion(simple.name)) {
        this.#nested++
        this.#visit({ ...simple, name, path: target }, shell)
        this.#nested--
      }
    })
    // Launchers of package managers are shell scripts that cannot be followed completely.
    const isShadow = READ_ONLY.has(simple.name)
    this.#findings.addAll(isShadow ? reasons : reasons.filter(isSevere))
  }

  #visit(given: SimpleCommand, shell: Shell): void {
    if (this.#simples.length >= MAX_SIMPLES) {
      this.#findings.addUnclear()
      return
    }
    let simple = given
    const inner = innerCommands(simple)
    if (inner.length > 0) simple = { ...simple, wraps: true }
    this.#simples.push(simple)
    if (this.#nested === 0) this.#parts.push(simple)
    if (shell.aliases.has(simple.path)) this.#findings.addUnclear()
    const result = classifyCommand(simple, this.#context, {
      hasPackage: this.#hasPackage,
      hasQuoted: shell.hasQuoted,
      isLocalProgram: (path, cwd) => isLocalProgram(path, cwd, this.#context),
      classifyFile: ({ path, args }) => {
        if (hasUnknown(path)) return this.#findings.addUnclear()
        if (!this.#isProjectPath(path, simple)) this.#findings.addUnclear()
        this.#file(path, simple, shell, { args })
      },
    })
    this.#findings.addAll(result.findings)
    this.#projectProgram(simple, shell)
    if (!result.isReadOnly) this.#isReadOnly = false
    this.#nested++
    const [dir] = simple.wraps ? startedIn(simple) : []
    // Only the wrapped program starts there.
    const cwd = dir === undefined ? simple.cwd : this.#resolve(dir, simple)
    const { hasQuoted } = shell
    shell.hasQuoted ||= takesUnknownLines(simple)
    for (const each of inner) {
      if ('text' in each) {
        if (each.text.startsWith(UNKNOWN) || each.text.startsWith('\u0001'))
          this.#findings.addUnclear()
        shell.run(each.text)
        continue
      }
      const [path = '', ...args] = each.words
      const name =
        hasUnknown(path) || /[*?]/.test(path)
          ? UNKNOWN
          : (path.split('/').at(-1) ?? '').toLowerCase()
      this.#visit(
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
    shell.hasQuoted = hasQuoted
    this.#nested--
    const git = simple.name === 'git' ? readGit(simple.args).runs : []
    this.#follow([...runsOf(simple), ...git, ...moduleRuns(simple)], simple, shell)
    if (namedPrograms(simple).some(path => this.#isWrittenHere(path, simple, shell)))
      this.#findings.addUnclear()
    for (const text of projectTexts(simple, shell)) {
      if (text === null) this.#findings.addUnclear()
      else {
        this.#nested++
        const reasons = this.#findings.collect(() => shell.run(text))
        this.#nested--
        this.#findings.addAll(reasons.filter(isSevere))
      }
    }
    this.#recordWrites(simple, shell, result.isReadOnly)
  }

  #resolve(path: string, { cwd }: SimpleCommand): string | null {
    return resolvePath(path, { cwd, context: this.#context })
  }

  #isProjectPath(path: string, { cwd }: SimpleCommand): boolean {
    return isProjectPath(path, { cwd, context: this.#context })
  }

  /** Whether this command line itself created the program from unchecked content. */
  #isWrittenHere(path: string, simple: SimpleCommand, shell: Shell): boolean {
    const full = hasUnknown(path) ? null : this.#resolve(path, simple)
    return full !== null && shell.files.has(full)
  }

  /** Records written files, because a later command may run them. */
  #recordWrites(simple: SimpleCommand, shell: Shell, isQuiet: boolean): void {
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
      const full = redirected.has(path) ? null : this.#resolve(path, simple)
      if (full === null || BUILDS.test(simple.name)) continue
      shell.files.set(
        full,
        simple.name === 'tee' && typeof simple.input === 'string' ? simple.input : null,
      )
    }
    if (fills.length > 0 && /^(?:tar|bsdtar|unzip|7za?|unrar|cpio|patch|rsync)$/.test(simple.name))
      shell.hasWaited = true
  }
}
