/** Languages of `execute_code` scripts and the client code by which scripts call tools. */
import { basename, join } from 'node:path'
import { findProgram } from '../../base/find-program.ts'

/** Tools that scripts may call if available, with their positional arguments. */
export const CALLABLE: Readonly<Record<string, readonly string[]>> = {
  web_search: ['query', 'limit'],
  web_extract: ['urls'],
  read_file: ['path', 'offset', 'limit'],
  write_file: ['path', 'content'],
  search_files: ['pattern', 'target', 'path', 'file_glob', 'limit', 'offset', 'output_mode'],
  patch: ['path', 'old_string', 'new_string', 'replace_all', 'mode', 'patch'],
  terminal: ['command', 'timeout', 'workdir'],
}

export type Language = {
  name: 'Python' | 'JavaScript'
  /** The interpreter's path. */
  program: string
  /** Files of the script's private folder: name → content. */
  files: (code: string, tools: readonly string[]) => Record<string, string>
  args: (dir: string) => string[]
  hint: string
}

const pythonTools = (
  tools: readonly string[],
): string => `"""Tools of the agent, called over a private socket."""
import json, os, socket, sys, threading

_lock = threading.Lock()
_socket = None
_reader = None


def call_tool(name, arguments):
    """One call; answers what the tool answers: a dict where that is JSON, else text."""
    global _socket, _reader
    try:
        sys.stdout.flush()
    except Exception:
        pass  # The script has closed or replaced it.
    with _lock:
        if _socket is None:
            _socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            _socket.connect(os.environ["AGENT_TOOLS_SOCKET"])
            _reader = _socket.makefile("r", encoding="utf-8", newline="\\n")
        request = {"token": os.environ["AGENT_TOOLS_TOKEN"], "tool": name, "args": arguments}
        _socket.sendall((json.dumps(request) + "\\n").encode("utf-8"))
        line = _reader.readline()
    if not line:
        raise RuntimeError("The agent does not answer any more.")
    answer = json.loads(line)
    if "refused" in answer:
        raise RuntimeError(answer["refused"])
    try:
        return json.loads(answer["content"])
    except ValueError:
        return answer["content"]


${tools
  .map(
    name => `def ${name}(*values, **named):
    names = ${JSON.stringify(CALLABLE[name])}
    if len(values) > len(names):
        raise TypeError("${name} takes " + ", ".join(names))
    return call_tool("${name}", {**dict(zip(names, values)), **named})
`,
  )
  .join('\n\n')}`

/**
 * Without a buffer every print is a write of its own, which takes five times as long. The buffer is emptied often, and before
 * another program or a tool prints.
 */
const PYTHON_START = `import atexit, os, runpy, sys, threading


def _flush():
    try:
        sys.stdout.flush()
    except Exception:
        pass  # The script has closed or replaced it.


_ended = threading.Event()


def _flush_often():
    while not _ended.wait(0.05):
        _flush()


def _exit(code, _exit=os._exit):
    _flush()
    _exit(code)


def _before(event, _):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect"):
        _flush()


sys.addaudithook(_before)
os._exit = _exit
_flusher = threading.Thread(target=_flush_often, daemon=True)
_flusher.start()
# Python aborts when it ends while another thread writes.
atexit.register(_flusher.join)
atexit.register(_ended.set)
here = os.path.dirname(os.path.abspath(__file__))
import agent_tools
given = {name: value for name, value in vars(agent_tools).items() if not name.startswith("_")}
runpy.run_path(os.path.join(here, "script.py"), init_globals=given, run_name="__main__")
`

const javascriptTools = (
  tools: readonly string[],
): string => `// Tools of the agent, called over a private socket.
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { env } from 'node:process'
const waiting = []
const state = {}
const open = () => {
  const socket = createConnection(env.AGENT_TOOLS_SOCKET)
  createInterface({ input: socket, crlfDelay: Infinity }).on('line', line => waiting.shift()?.resolve(JSON.parse(line)))
  const lost = () => { for (const one of waiting.splice(0)) one.reject(new Error('The agent does not answer any more.')) }
  return socket.on('error', lost).on('close', lost)
}
globalThis.call_tool = async (tool, args) => {
  const socket = (state.socket ??= open())
  socket.ref()
  const answer = await new Promise((resolve, reject) => {
    waiting.push({ resolve, reject })
    socket.write(JSON.stringify({ token: env.AGENT_TOOLS_TOKEN, tool, args }) + '\\n')
  })
  // Only an open call keeps the script alive.
  if (waiting.length === 0) socket.unref()
  if (answer.refused) throw new Error(answer.refused)
  try { return JSON.parse(answer.content) } catch { return answer.content }
}
const define = (name, names) => {
  globalThis[name] = (...values) => {
    const last = values.at(-1)
    const named = last && typeof last === 'object' && !Array.isArray(last) ? values.pop() : {}
    return call_tool(name, { ...Object.fromEntries(values.map((value, n) => [names[n], value])), ...named })
  }
}
${tools.map(name => `define('${name}', ${JSON.stringify(CALLABLE[name])})`).join('\n')}
`

/** Python if installed, else Node; null without either. */
export const languageOf = (path: string, execPath = process.execPath): Language | null => {
  const python = findProgram(path, 'python3')
  if (python)
    return {
      name: 'Python',
      program: python,
      files: (code, tools) => ({
        'agent_tools.py': pythonTools(tools),
        'start.py': PYTHON_START,
        'script.py': code,
      }),
      args: dir => [join(dir, 'start.py')],
      hint: 'print() what you need to see.',
    }
  const node = /^node(?:\.exe)?$/.test(basename(execPath)) ? execPath : findProgram(path, 'node')
  if (!node) return null
  return {
    name: 'JavaScript',
    program: node,
    files: (code, tools) => ({ 'agent-tools.mjs': javascriptTools(tools), 'script.mjs': code }),
    args: dir => ['--import', join(dir, 'agent-tools.mjs'), join(dir, 'script.mjs')],
    hint: 'It is an ES module for Node with top-level await; the functions return promises. Print what you need to see.',
  }
}
