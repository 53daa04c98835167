/** The environment of child processes: the home's variables without secrets. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ProfileConfig } from './config.ts'
import type { VariableChanges } from './init-files.ts'

/** Names whose values are secrets by convention: OPENAI_API_KEY, HF_TOKEN, SUDO_PASSWORD, AWS_SECRET_ACCESS_KEY, FAL_KEY. */
const SECRET =
  /API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)(?:KEY|KEY_ID|TOKEN|CREDENTIALS?|PAT)$/i

type Terminal = Pick<ProfileConfig['terminal'], 'env_passthrough' | 'home_mode'>

/** OTEL_EXPORTER_OTLP_HEADERS and the like carry the key of a collector. */
const COLLECTOR = /^OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS$/i

/** It has the password of the database. */
const DATABASE = 'AGENT_WEBUI_CLUSTER_URL'

export const isSecretName = (name: string): boolean =>
  SECRET.test(name) || COLLECTOR.test(name) || name === DATABASE

/**
 * The service's own settings, including its password and those of its memory (`build/node-flags.mjs`), and what its supervisor
 * gave to it alone: a program that reports to systemd would report as the service. Never passed to children.
 */
const OURS =
  /^AGENT_WEBUI_|^MALLOC_(?:ARENA_MAX|(?:MMAP|TRIM)_THRESHOLD_)$|^(?:NOTIFY_SOCKET|WATCHDOG_(?:PID|USEC)|LISTEN_(?:PID|FDS|FDNAMES))$/i

/** `terminal.home_mode: profile`: programs get the profile's own HOME where it exists, and none of the person's logins. */
const profileHomeDir = ({ home_mode }: Terminal, dir: string): string | null => {
  const path = join(dir, 'home')
  return home_mode === 'profile' && existsSync(path) ? path : null
}

export const childEnvironment = (options: {
  env: Readonly<Record<string, string>>
  /** What the shell init files changed in it. */
  changes?: VariableChanges
  config: Terminal
  /** Added after secrets are removed. */
  extra: Readonly<Record<string, string>>
  /** The home directory of the profile. */
  dir?: string
}): Record<string, string> => {
  const allowed = new Set(options.config.env_passthrough)
  const visible = Object.entries({ ...options.env, ...options.changes }).filter(
    (entry): entry is [string, string] =>
      entry[1] !== null &&
      !OURS.test(entry[0]) &&
      (allowed.has(entry[0]) || !isSecretName(entry[0])),
  )
  const own = options.dir !== undefined && profileHomeDir(options.config, options.dir)
  return { ...Object.fromEntries(visible), ...(own && { HOME: own }), ...options.extra }
}
