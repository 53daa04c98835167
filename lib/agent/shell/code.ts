/** Scans scripts in other languages for commands they run, including blocked ones. */
import type { ShellContext } from './types.ts'

/** String literals of common languages, multi-line ones first. */
const LITERAL =
  /("""|''')([\s\S]*?)\1|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|%x[({]([^)}\n]*)[)}]|\bqx[({/]([^)}/\n]*)[)}/]/g

/** Calls before a string that is run: `os.system(`, `subprocess.run([`, `execSync(`. */
const RUN =
  /(?:^|[^\w])(?:system|popen\w*|run|call|check_call|check_output|getoutput|getstatusoutput|exec\w*|spawn\w*|shell_exec|passthru|proc_open|Command|shell)\s*\(?\s*\[?\s*(?:\w+\s*=\s*)?[frbu]{0,2}$/i

/** Checked by the terminal tool itself, which reports the result to the script. */
const TOOL = /(?:^|[^\w.])terminal\s*\(\s*(?:\w+\s*=\s*)?[frbu]{0,2}$/i

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

export type CodeText = { text: string; isRun: boolean }

/** Comma-separated strings are the words of one command. */
export const textsIn = (code: string): CodeText[] => {
  const found: { words: string[]; isRun: boolean; isTool: boolean }[] = []
  let end = 0
  for (const match of code.matchAll(LITERAL)) {
    const backtick = match[5] !== undefined || match[6] !== undefined || match[7] !== undefined
    const word = match[2] ?? match[3] ?? match[4] ?? match[5] ?? match[6] ?? match[7] ?? ''
    const between = code.slice(end, match.index)
    const last = found.at(-1)
    if (last && /^\s*,\s*\[?\s*$/.test(between)) last.words.push(word)
    else {
      const before = between.slice(-100)
      const isRun = RUN.test(before) || (backtick && match[5] === undefined)
      found.push({ words: [word], isRun, isTool: TOOL.test(before) })
    }
    end = match.index + match[0].length
    if (found.length > 2_000) break
  }
  return found
    .filter(({ isTool }) => !isTool)
    .flatMap(({ words, isRun }) => [
      ...words.slice(0, 50).map(text => ({ text, isRun: isRun && words.length === 1 })),
      ...(isRun && words.length > 1 ? [{ text: words.map(quoted).join(' '), isRun }] : []),
    ])
}

const ROOTS = String.raw`(?:["'\x60](?:\/|~|\/(?:home|etc|usr|var|bin|boot|lib|root|opt)|\/\*|~\/\*?)\/?["'\x60]|(?:os\.path\.)?expanduser\(\s*["']~\/?["']\s*\)|Path\.home\(\)|(?:os\.)?homedir\(\)|Dir\.home|os\.environ\[["']HOME["']\]|os\.getenv\(["']HOME["']\)|process\.env\.HOME\b|ENV\[["']HOME["']\]|\$ENV\{HOME\}|getenv\(["']HOME["']\))`
const REMOVE = String.raw`(?:rmtree|rm_rf|rm_r|remove_tree|rmSync|rmdirSync|rimraf(?:Sync)?|removeSync|remove_entry_secure|remove_dir|removeAll|RemoveAll|fs\.rm|promises\.rm|rmdir|deltree|remove_dir_all)`

const BLOCKED_CODE: readonly [RegExp, string][] = [
  [
    new RegExp(
      String.raw`\b${REMOVE}\s*\(?\s*(?:pathlib\.)?(?:Path\(\s*)?${ROOTS}\s*\)?\s*(?:[,);]|$)`,
      'm',
    ),
    'deleting a system directory or the home directory',
  ],
  [
    /\bfork\s*(?:\(\s*\))?\s*while\s+(?:fork|1|true)|while\s*\(?\s*(?:1|true|True)\s*\)?\s*[:{]?\s*(?:\w+\.)?fork\b|\bloop\s*(?:\{|do)\s*\|?\s*(?:Process\.)?fork|for\s*\(\s*;\s*;\s*\)\s*\{?\s*fork/,
    'a fork bomb',
  ],
  [
    /\bkill(?:pg)?\s*\(\s*-1\s*,|\bkill\s+["']?(?:9|KILL|SIGKILL)["']?\s*,\s*-1\b|Process\.kill\s*\(?\s*[^,]+,\s*-1/,
    'killing every process',
  ],
  [
    /(?:open|fopen|writeFile(?:Sync)?|createWriteStream|O_WRONLY|File\.(?:open|write)|write_bytes|write_text)[^\n]{0,40}["'](?:>\s*)?\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk\d|mapper\/|dm-)\w*["'][^\n]{0,30}|Path\(["']\/dev\/(?:sd|nvme|vd|hd)\w*["']\)\.write/,
    'writing to a raw device',
  ],
  [
    /(?:open|writeFile(?:Sync)?|File\.write|write_text|truncate)\s*\(\s*["'](?:\/etc\/(?:passwd|shadow|sudoers|group)|\/proc\/sysrq-trigger)["']\s*,\s*["']?(?:w|[^ra"'])/,
    'overwriting a file the system needs',
  ],
  [/\b(?:sethostname|reboot)\s*\(\s*(?:LINUX_REBOOT|0x|RB_)/, 'shutting the machine down'],
]

/** Why a script is blocked; undefined when it contains nothing of the kind in plain text. */
export const blockedInCode = (code: string): string | undefined =>
  BLOCKED_CODE.find(([pattern]) => {
    const found = pattern.exec(code)
    // Opened for reading only.
    return found && !/["']rb?["']/.test(found[0])
  })?.[1]

/** Whether it runs text that it computes. */
export const runsComputedText = (code: string): boolean =>
  /\b(?:exec|eval|compile)\s*\(\s*(?!['"\x60][^'"\x60]*['"\x60]\s*[,)])[^)\s]/.test(
    code.replace(/\.exec\s*\(/g, '.match('),
  ) &&
  /\b(?:b64decode|fromCharCode|unhexlify|fromhex|decompress|marshal|codecs|rot13|atob|Buffer\.from|chr\(|urlopen|requests\.get|fetch\(|__import__|getattr)/.test(
    code,
  )
    ? true
    : /\bos\.system\s*\(\s*(?!f?r?["'])[^)\s]|shell\s*=\s*True[^\n]*b64|\b(?:b64decode|fromCharCode|unhexlify|fromhex|atob)\b[^\n]{0,120}\b(?:exec|eval|system|popen|spawn|Function)\b|\b(?:exec|eval|system|popen|spawn\w*|Function)\b[^\n]{0,120}\b(?:b64decode|fromCharCode|unhexlify|fromhex|atob)\b|getattr\s*\(\s*(?:os|subprocess|shutil|__import__)/.test(
        code,
      )

/** Paths that a script deletes, as far as they are literals. */
export const removedPaths = (code: string): string[] =>
  [
    ...code.matchAll(
      new RegExp(
        String.raw`\b(?:${REMOVE}|unlink|unlinkSync|os\.remove|rename|renameSync|move)\s*\(?\s*(?:Path\(\s*)?["'\x60]([^"'\x60\n]{1,400})["'\x60]`,
        'g',
      ),
    ),
  ].map(match => match[1] ?? '')

/** Finds a protected path whose folder and name are separate literals that the script joins. */
export const namesInParts = (
  literals: readonly string[],
  { controlPaths: control }: ShellContext,
): boolean => {
  const has = (name: string) => literals.some(literal => `/${literal}`.endsWith(`/${name}`))
  return (control ?? []).some(path => {
    const [folder = '', name = ''] = path.split('/').slice(-2)
    return folder.startsWith('.') && has(folder) && has(name)
  })
}
