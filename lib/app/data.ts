/** Composition: everything stored on disk and the event stream that publishes its changes. */
import { withCodes } from '../base/sentences.ts'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ApiTokens, openApiTokens } from '../people/api-tokens.ts'
import { type Audit, openAudit } from '../people/audit.ts'
import { type Auth, createAuth } from '../people/auth.ts'
import { type Codes, createCodes } from '../people/codes.ts'
import { createIdentities, type Identities } from '../people/identities.ts'
import { openPeople, type People } from '../people/people.ts'
import { openSigningKey, signing } from '../people/signing-key.ts'
import { mayToken } from '../people/may.ts'
import { openThrottle } from '../people/throttle.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { type AcceptedGuards, createAcceptedGuards } from '../commands/guards/accepted-guards.ts'
import {
  type AcceptedSettings,
  openAcceptedSettings,
} from '../commands/guards/accepted-settings.ts'
import { createHub, type Hub } from '../http/hub.ts'
import { createKeyJournal } from '../http/request-key-journal.ts'
import { openRequestKeys, type RequestKeys } from '../http/request-keys.ts'
import type { Log } from '../operations/log.ts'
import { migrateDefaultModel } from '../models/default-model.ts'
import { packedHere } from '../store/packed.ts'
import { createHomes, type Homes } from '../profiles/homes.ts'
import type { Owned } from '../cluster/types.ts'
import { createKnownSecrets } from '../profiles/known-secrets.ts'
import { restrictSecrets } from '../profiles/file-permissions.ts'
import { createProjects, type Projects } from '../workspaces/projects.ts'
import { redact, refreshSecrets, watchSecrets } from '../base/redact/redact.ts'
import { WORKER_LIMITS } from '../sessions/search-client.ts'
import { createSessions } from '../sessions/sessions.ts'
import { addonCandidates, installAddon, installProgram } from '../store/unpack-native.ts'
import type { Sessions } from '../sessions/types.ts'
import type { Notify } from '../schema/notice.ts'
import { createSettings } from '../profiles/settings.ts'
import { startMove } from './moved-home.ts'
import { createPersonalSettings, type PersonalSettings } from './personal-settings.ts'
import { createToolOutput, type ToolOutput } from '../sessions/tool-output.ts'
import { PromptCache } from '../turns/context/prompt-cache.ts'
import { resolveDefaultWorkspace } from '../workspaces/default-workspace.ts'
import { createWorkspaces, type Workspaces } from '../workspaces/workspaces.ts'
import { usableWorkspace } from '../workspaces/workspace-paths.ts'

/** Path of the SQLite addon, unpacked first in the single-file build; undefined elsewhere. */
export const unpackSqliteAddon = ({ stateDir, userHome, env }: Config): string | undefined => {
  const packed = packedHere()
  if (!packed) return undefined
  const dirs = { stateDir, userHome, cacheHome: env.XDG_CACHE_HOME }
  return installAddon(packed.addons, addonCandidates(dirs))
}

/** The executable's own ripgrep, looked for once in a run: what is in the cache may be deleted at any time. */
export const unpackRipgrep = ({
  stateDir,
  userHome,
  env,
}: Config): (() => string | undefined) | undefined => {
  const source = packedHere()?.ripgrep
  const dirs = { stateDir, userHome, cacheHome: env.XDG_CACHE_HOME }
  return source && (() => installProgram(source, 'rg', addonCandidates(dirs)))
}

export type AppDataOptions = {
  log: Log
  clock: Clock
  /** Path of the SQLite addon, in the single-file build. */
  addon?: string | undefined
  /** Another machine may continue with these files. */
  isShared: boolean
  passwordIterations?: number | undefined
  /** For tests that write config.yaml themselves: it applies as written. */
  isConfigTrusted?: boolean | undefined
  onSignOut?: (ids: readonly string[]) => void
}

/** In the single-file build the search worker starts from its embedded source. */
export const searchWorkerOf = (packed: ReturnType<typeof packedHere>) =>
  packed && {
    startWorker: () =>
      new Worker(packed.searchWorker(), { eval: true, resourceLimits: WORKER_LIMITS }),
  }

/** The service's own secrets: its password and its signing key. */
const ownSecrets = ({ stateDir, password }: Config) => {
  const key = openSigningKey(stateDir)
  let values = [password ?? '', key.toString('hex'), key.toString('base64')]
  return {
    values: (): readonly string[] => values,
    add(secret: string): void {
      if (!values.includes(secret)) values = [...values, secret]
      refreshSecrets()
    },
  }
}

export type AppData = {
  homes: Homes
  settings: ReturnType<typeof createSettings>
  personalSettings: PersonalSettings
  workspaces: Workspaces
  auth: Auth
  audit: Audit
  people: People
  identities: Identities
  codes: Codes
  apiTokens: ApiTokens
  requestKeys: RequestKeys
  hub: Hub
  acceptedGuards: AcceptedGuards
  acceptedSettings: AcceptedSettings
  promptCache: PromptCache
  /** Calls `listener` with the id of each session that is deleted. */
  onSessionDeleted: (listener: (id: string) => void) => void
  toolOutput: ToolOutput
  sessions: Sessions
  projects: Projects
  /** Shows a notice on every open page. */
  notify: Notify
  /** Masks a secret of the service itself wherever text is shown or stored. */
  maskSecret: (secret: string) => void
  /** The last step of a stop: closes the request keys, and stops watching the secrets that are masked. */
  closeData: () => void
}

/** What every composition function receives. */
export type Composition = {
  config: Config
  log: Log
  clock: Clock
  data: AppData
  /** The right to serve this directory. */
  cell: Owned
}

export const openAppData = (config: Config, options: AppDataOptions): AppData => {
  const { log, clock, addon } = options
  const { stateDir } = config
  restrictSecrets(config, line => log.warn(line))
  const finishMove = startMove(config, log)
  const acceptedSettings = openAcceptedSettings(stateDir, signing(stateDir))
  const homes = createHomes(config, clock, acceptedSettings)
  const settings = createSettings(join(stateDir, 'settings.json'), {
    botName: config.botName,
    usableWorkspace: path => usableWorkspace(path, config.userHome),
    defaultWorkspace: saved => resolveDefaultWorkspace(config, saved),
    migrateDefaultModel: model => migrateDefaultModel(homes.base, model),
  })
  const workspaces = createWorkspaces(
    config,
    () => settings.get().default_workspace,
    () => people.hasOthers(),
  )
  const own = ownSecrets(config)
  // The first start accepts what is there. The key that signs it exists now.
  if (acceptedSettings.isNew() && options.isConfigTrusted !== true)
    for (const home of homes.list()) acceptedSettings.accept(home.name, home.config.peek())
  acceptedSettings.extend(
    homes.list().map(home => ({ name: home.name, values: home.config.peek() })),
  )
  const audit = openAudit(join(stateDir, 'audit.jsonl'), {
    clock,
    redact,
    warn: log.warn,
  })
  const people = openPeople(stateDir, log.warn)
  const codes = createCodes({
    people,
    throttlePath: join(stateDir, 'auth-code-throttle.json'),
    clock,
    warn: log.warn,
    onSecret: own.add,
  })
  const identities = createIdentities({ people, clock })
  const auth = createAuth({
    clock,
    codes,
    identities: config.authHeader === null ? undefined : identities,
    onProxySignIn: ({ address, agent = '' }, user) =>
      audit.note('sign-in', { address, device: agent, detail: `proxy ${user}` }),
    people,
    stateDir,
    config: {
      password: config.password,
      // A provider or proxy says who people are, not that everyone is the owner: that needs a password.
      isExposed:
        !config.isVouched &&
        (config.isExposed || config.oidc !== null || config.authHeader !== null),
    },
    settings: settings.password,
    log,
    iterations: options.passwordIterations,
    onPassword: own.add,
    onSignOut: options.onSignOut,
  })
  const apiTokens = openApiTokens(join(stateDir, 'api-tokens.json'), {
    clock,
    throttle: openThrottle({ clock }),
    mayCall: mayToken,
  })
  const requestKeys = openRequestKeys(join(stateDir, 'cache', 'requests.db'), {
    addon,
    clock,
    log: log.warn,
    ...(options.isShared && {
      journal: createKeyJournal(join(stateDir, 'request-keys'), clock),
    }),
  })
  const unwatch = [watchSecrets(createKnownSecrets(homes.list)), watchSecrets(own.values)]
  const hub = createHub({
    boot: randomBytes(4).toString('hex'),
    clock,
    profileOf: id => sessions.row(id)?.profile,
  })
  const acceptedGuards = createAcceptedGuards(join(stateDir, 'accepted-guards.json'))
  const promptCache = new PromptCache(join(stateDir, 'cache', 'prompts'), clock, log.warn)
  const toolOutput = createToolOutput({ dir: join(stateDir, 'tool-output'), log: log.warn })
  const sessionListeners = new Set<(id: string) => void>()
  const sessions = createSessions({
    dir: join(stateDir, 'sessions'),
    trashDir: join(stateDir, 'trash'),
    cacheDir: join(stateDir, 'cache'),
    redact,
    // Empty untitled sessions too: a page that shows one must learn that it was cleared.
    onRow: row => hub.publish('list', { type: 'row', data: { row } }),
    onDeleted: (id, profile, seq) => {
      promptCache.delete(id)
      for (const listener of sessionListeners) listener(id)
      hub.publish('list', { type: 'gone', data: { session_id: id, seq } }, {}, profile)
    },
    onCopied: toolOutput.copyImages,
    log: log.warn,
    clock,
    addon,
    ...searchWorkerOf(packedHere()),
  })
  finishMove({ sessions, workspaces, homes })
  const projects = createProjects({
    path: join(stateDir, 'projects.json'),
    members: sessions.idsByProject,
    unassign: id => void sessions.append(id, [{ t: 'meta', patch: { project_id: null } }]),
    clock,
  })
  return {
    homes,
    settings,
    personalSettings: createPersonalSettings(settings, people),
    workspaces,
    auth,
    audit,
    people,
    identities,
    codes,
    apiTokens,
    requestKeys,
    hub,
    acceptedGuards,
    acceptedSettings,
    promptCache,
    toolOutput,
    sessions,
    projects,
    notify: (level, message, { code, values }) => {
      const { sentences, ...plain } = withCodes(values ?? {})
      const about = { code, ...(values && { values: plain }), ...(sentences && { sentences }) }
      hub.publish('notices', { type: 'notice', data: { level, message, ...about } })
    },
    maskSecret: own.add,
    onSessionDeleted: listener => void sessionListeners.add(listener),
    closeData() {
      requestKeys.close()
      for (const stop of unwatch) stop()
    },
  }
}
