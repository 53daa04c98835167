/** What the service stores on disk, and the hub that publishes its changes. */
import { withCodes } from '../base/sentences.ts'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ApiTokens } from '../people/api-tokens.ts'
import { Audit } from '../people/audit.ts'
import { Auth } from '../people/auth.ts'
import { Codes } from '../people/codes.ts'
import { Identities } from '../people/identities.ts'
import { People } from '../people/people.ts'
import { openSigningKey, signing } from '../people/signing-key.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { AcceptedGuards } from '../commands/guards/accepted-guards.ts'
import { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { Hub } from '../http/hub.ts'
import { RequestKeys } from '../http/request-keys.ts'
import type { Log } from '../operations/log.ts'
import { migrateDefaultModel } from '../models/default-model.ts'
import { packedHere } from '../store/packed.ts'
import { Homes } from '../profiles/homes.ts'
import type { Owned } from '../cluster/cluster.ts'
import { KnownSecrets } from '../profiles/known-secrets.ts'
import { restrictSecrets } from '../profiles/file-permissions.ts'
import { Projects } from '../workspaces/projects.ts'
import { redact, refreshSecrets, watchSecrets } from '../base/redact/redact.ts'
import { WORKER_LIMITS } from '../sessions/search-client.ts'
import { Sessions } from '../sessions/sessions.ts'
import { addonCandidates, installAddon, installProgram } from '../store/unpack-native.ts'
import type { Notify } from '../schema/notice.ts'
import { SettingsStore } from '../profiles/settings.ts'
import { startMove } from '../operations/moved-home.ts'
import { PersonalSettings } from '../people/personal-settings.ts'
import { ToolOutput } from '../sessions/tool-output.ts'
import { PromptCache } from '../turns/context/prompt-cache.ts'
import { resolveDefaultWorkspace } from '../workspaces/default-workspace.ts'
import { Workspaces } from '../workspaces/workspaces.ts'
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

/** In the single-file build the search worker starts from its embedded source. */
export const searchWorkerOf = (packed: ReturnType<typeof packedHere>) =>
  packed && {
    startWorker: () =>
      new Worker(packed.searchWorker(), { eval: true, resourceLimits: WORKER_LIMITS }),
  }

/** The secrets of the service itself, such as its password and its signing key. */
class OwnSecrets {
  #values: readonly string[]

  constructor({ stateDir, password }: Config) {
    const key = openSigningKey(stateDir)
    this.#values = [password ?? '', key.toString('hex'), key.toString('base64')]
  }

  readonly values = (): readonly string[] => this.#values

  readonly add = (secret: string): void => {
    if (!this.#values.includes(secret)) this.#values = [...this.#values, secret]
    refreshSecrets()
  }
}

/** Everything that is stored. `App` adds what runs. */
export class AppData {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly cell: Owned
  readonly acceptedSettings: AcceptedSettings
  readonly homes: Homes
  readonly settings: SettingsStore
  readonly workspaces: Workspaces
  readonly audit: Audit
  readonly people: People
  readonly personalSettings: PersonalSettings
  readonly codes: Codes
  readonly identities: Identities
  readonly auth: Auth
  readonly apiTokens: ApiTokens
  readonly requestKeys: RequestKeys
  readonly hub: Hub
  readonly acceptedGuards: AcceptedGuards
  readonly promptCache: PromptCache
  readonly toolOutput: ToolOutput
  readonly sessions: Sessions
  readonly projects: Projects
  /** Masks a secret of the service itself wherever text is shown or stored. */
  readonly maskSecret: (secret: string) => void
  readonly #unwatch: (() => void)[]

  constructor(
    config: Config,
    log: Log,
    clock: Clock,
    /** The right to serve this directory. */
    cell: Owned,
    options: {
      /** Path of the SQLite addon, in the single-file build. */
      addon?: string | undefined
      passwordIterations?: number | undefined
      /** For tests that write config.yaml themselves: it applies as written. */
      isConfigTrusted?: boolean | undefined
    },
  ) {
    const { addon } = options
    const { stateDir } = config
    this.config = config
    this.log = log
    this.clock = clock
    this.cell = cell
    restrictSecrets(config, line => log.warn(line))
    const finishMove = startMove(config, log)
    this.acceptedSettings = new AcceptedSettings(stateDir, signing(stateDir))
    this.homes = new Homes(config, clock, this.acceptedSettings)
    this.settings = new SettingsStore(join(stateDir, 'settings.json'), {
      botName: config.botName,
      usableWorkspace: path => usableWorkspace(path, config.userHome),
      defaultWorkspace: saved => resolveDefaultWorkspace(config, saved),
      migrateDefaultModel: model => migrateDefaultModel(this.homes.base, model),
    })
    this.workspaces = new Workspaces(
      config,
      () => this.settings.get().default_workspace,
      () => this.people.hasOthers(),
    )
    const own = new OwnSecrets(config)
    this.maskSecret = own.add
    this.#acceptFirstSettings(options.isConfigTrusted === true)
    this.audit = new Audit(join(stateDir, 'audit.jsonl'), clock, log.warn)
    this.people = new People(stateDir, log.warn)
    this.personalSettings = new PersonalSettings(this.settings, this.people)
    const codeThrottle = join(stateDir, 'auth-code-throttle.json')
    this.codes = new Codes(this.people, codeThrottle, clock, log.warn, own.add)
    this.identities = new Identities(this.people, clock)
    this.auth = new Auth(stateDir, this.people, {
      clock,
      codes: this.codes,
      identities: config.authHeader === null ? undefined : this.identities,
      config: {
        password: config.password,
        // A provider or proxy says who people are, not that everyone is the owner: that needs a password.
        isExposed:
          !config.isVouched &&
          (config.isExposed || config.oidc !== null || config.authHeader !== null),
      },
      settings: this.settings.password,
      log,
      iterations: options.passwordIterations,
      on: {
        password: own.add,
        signOut: ids => this.onSignOut(ids),
        proxySignIn: ({ address, agent = '' }, user) =>
          this.audit.note('sign-in', { address, device: agent, detail: `proxy ${user}` }),
      },
    })
    this.apiTokens = new ApiTokens(join(stateDir, 'api-tokens.json'), clock)
    this.requestKeys = new RequestKeys(join(stateDir, 'request-keys'), clock, log.warn)
    const secrets = new KnownSecrets(() => this.homes.list())
    this.#unwatch = [watchSecrets(() => secrets.list()), watchSecrets(own.values)]
    this.hub = new Hub(randomBytes(4).toString('hex'), clock, id => this.sessions.row(id)?.profile)
    this.acceptedGuards = new AcceptedGuards(join(stateDir, 'accepted-guards.json'))
    this.promptCache = new PromptCache(join(stateDir, 'cache', 'prompts'), clock, log.warn)
    this.toolOutput = new ToolOutput(join(stateDir, 'tool-output'), log.warn)
    this.sessions = new Sessions({
      dir: join(stateDir, 'sessions'),
      trashDir: join(stateDir, 'trash'),
      cacheDir: join(stateDir, 'cache'),
      redact,
      // Empty untitled sessions too: a page that shows one must learn that it was cleared.
      onRow: row => this.hub.publish('list', { type: 'row', data: { row } }),
      onDeleted: (id, profile, seq) => {
        this.onSessionDeleted(id)
        this.hub.publish('list', { type: 'gone', data: { session_id: id, seq } }, {}, profile)
      },
      onCopied: (from, to) => this.toolOutput.copyImages(from, to),
      log: log.warn,
      clock,
      addon,
      ...searchWorkerOf(packedHere()),
    })
    finishMove({ sessions: this.sessions, workspaces: this.workspaces, homes: this.homes })
    this.projects = new Projects(
      join(stateDir, 'projects.json'),
      id => this.sessions.idsByProject(id),
      id => void this.sessions.append(id, [{ t: 'meta', patch: { project_id: null } }]),
      clock,
    )
  }

  /** Shows a notice on every open page. */
  readonly notify: Notify = (level, message, { code, values }) => {
    const { sentences, ...plain } = withCodes(values ?? {})
    const about = { code, ...(values && { values: plain }), ...(sentences && { sentences }) }
    this.hub.publish('notices', { type: 'notice', data: { level, message, ...about } })
  }

  /** Shows the messages of a session again on the pages that show them. */
  readonly resetSession = (id: string): void =>
    void this.hub.publish(`session:${id}`, { type: 'reset', data: {} })

  /** Sign-ins have ended. `App` adds to it. */
  protected onSignOut(_ids: readonly string[]): void {}

  protected onSessionDeleted(id: string): void {
    this.promptCache.delete(id)
  }

  /** The last step of a stop. */
  protected stopWatching(): void {
    for (const stop of this.#unwatch) stop()
  }

  /** The first start accepts what is there. The key that signs it exists by then. */
  #acceptFirstSettings(isTrusted: boolean): void {
    if (this.acceptedSettings.isNew() && !isTrusted)
      for (const home of this.homes.list())
        this.acceptedSettings.accept(home.name, home.configFile.peek())
  }
}
