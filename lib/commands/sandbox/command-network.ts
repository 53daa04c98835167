/** The network of one command: the proxy that it reaches from its sandbox, and what it needs for that. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Mount } from './mounts.ts'
import { NETWORK_DIRECTORY, proxyVariables, SOCKET_NAME, withBridge } from './network-bridge.ts'
import { openNetworkProxy, type NetworkProxyOptions } from './network-proxy.ts'
import type { Program } from '../../agent/tool-services.ts'

export type CommandNetwork = {
  mounts: readonly Mount[]
  /** Variables for the command. */
  env: Readonly<Record<string, string>>
  /** How the program is started inside. */
  start: (program: Program) => Program
  /** On this computer's localhost, where the sandbox has no localhost of its own. */
  port: number | null
  close: () => void
}

export type CommandNetworkOptions = Omit<NetworkProxyOptions, 'listen'>

/** With a socket in a directory of its own below `parent`, which the sandbox sees at another place. */
export const openMountedNetwork = async (
  parent: string,
  options: CommandNetworkOptions,
): Promise<CommandNetwork> => {
  const dir = mkdtempSync(join(parent, 'p'))
  const proxy = await openNetworkProxy({ ...options, listen: { path: join(dir, SOCKET_NAME) } })
  return {
    mounts: [{ path: NETWORK_DIRECTORY, access: 'read', source: dir }],
    env: proxyVariables(),
    start: withBridge,
    port: null,
    close() {
      proxy.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** On a port, for sandboxes that share the localhost of this computer. */
export const openLocalNetwork = async (options: CommandNetworkOptions): Promise<CommandNetwork> => {
  const { port, close } = await openNetworkProxy({
    ...options,
    listen: { host: '127.0.0.1', port: 0 },
  })
  return { mounts: [], env: proxyVariables(port ?? 0), start: program => program, port, close }
}
