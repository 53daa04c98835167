/**
 * Inside a sandbox with a network namespace of its own: a program that listens on localhost and passes every connection on to
 * the proxy of the service, whose socket is mounted. It is started before the command, by a shell that becomes the command, so
 * signals and the exit status are those of the command itself. It ends with the sandbox.
 */
import { isExecutable } from '../../store/packed.ts'
import type { Program } from '../../agent/tool-services.ts'

/** The first argument of the executable that has Node in it, which takes no code as an argument. */
export const BRIDGE_ARGUMENT = 'network-bridge'

/** The port of the bridge on each sandbox's own localhost. */
const PORT = 28_128

/** Where the directory with the socket is mounted. */
export const NETWORK_DIRECTORY = '/.agent-network'
export const SOCKET_NAME = 'proxy'

/**
 * CommonJS for another process. Signals are for the command: `kill` reaches every process of the sandbox. Closing the standard
 * output says that it listens; something else must have its number then, or a connection would get what is printed.
 */
export const BRIDGE_CODE = `
const { createServer, connect } = process.getBuiltinModule('node:net')
const { closeSync, openSync } = process.getBuiltinModule('node:fs')
for (const name of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGALRM']) process.on(name, () => {})
const join = (from, to) => {
  from.on('error', () => to.destroy()).on('close', () => from.readableEnded || to.destroy())
  from.pipe(to)
}
createServer({ allowHalfOpen: true, noDelay: true }, client => {
  const proxy = connect({ path: '${NETWORK_DIRECTORY}/${SOCKET_NAME}', allowHalfOpen: true })
  join(client, proxy)
  join(proxy, client)
}).listen(${PORT}, '127.0.0.1', () => {
  closeSync(1)
  openSync('/dev/null', 'w')
})
`

/** Node, and how it is told to run the bridge. */
const node = (): string[] =>
  isExecutable() ? [process.execPath, BRIDGE_ARGUMENT] : [process.execPath, '-e', BRIDGE_CODE]

/**
 * Starts the bridge, waits until it has closed its output, and becomes the program. The bridge holds no pipe of the command,
 * whose end is waited for: not its standard error, nor descriptor 3, which may be a report.
 */
const start = (count: number): string => {
  const bridge = Array.from({ length: count }, (_, at) => `"$${at + 1}"`).join(' ')
  return `: "$(${bridge} </dev/null 2>/dev/null 3>&- &)"; shift ${count}; exec "$@"`
}

export const withBridge = ({ file, args }: Program): Program => {
  const words = node()
  return { file: '/bin/sh', args: ['-c', start(words.length), 'sh', ...words, file, ...args] }
}

/** What programs read to find the proxy. Names in capitals are for those that do not know the others. */
export const proxyVariables = (port: number = PORT): Record<string, string> => {
  const address = `http://127.0.0.1:${port}`
  const local = 'localhost,127.0.0.1,::1'
  const both = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: local }
  return {
    ...both,
    ...Object.fromEntries(Object.entries(both).map(([name, value]) => [name.toLowerCase(), value])),
    // Node's own fetch.
    NODE_USE_ENV_PROXY: '1',
    // Looks for newer versions of themselves, which nobody asked for, would be a question each.
    NO_UPDATE_NOTIFIER: '1',
    npm_config_update_notifier: 'false',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  }
}

export const PROXY_VARIABLES: readonly string[] = Object.keys(proxyVariables())
