/** Composition root: builds every long-lived part once, in the order in which they need each other, and closes them in order. */
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { listFiles } from '../agent/search/list-files.ts'
import { createProxyDispatcher } from '../agent/providers/registry.ts'
import { type Clock, systemClock, waitAtMost } from '../base/clock.ts'
import { redact } from '../base/redact/redact.ts'
import { ClientApi } from '../client-api/client-api.ts'
import { Conversations } from '../client-api/conversations.ts'
import { alone } from '../cluster/alone.ts'
import type { Owned } from '../cluster/cluster.ts'
import type { SettingChanges } from '../commands/guards/setting-changes.ts'
import { endDetached } from '../commands/own-processes/end-detached.ts'
import { MARK_VARIABLE } from '../commands/own-processes/own-processes.ts'
import { ProcessRegistry } from '../commands/processes.ts'
import type { Config } from '../config.ts'
import { Ctx } from '../context.ts'
import { Cron } from '../cron/cron.ts'
import { missing } from '../errors.ts'
import type { Authenticator } from '../http/access.ts'
import { createAssets } from '../http/static.ts'
import { ProxyCheck } from '../http/proxy-check.ts'
import type { CtxParameters } from '../http/request-context.ts'
import type { CountedRequest } from '../http/write-response.ts'
import type { Mcp } from '../mcp/mcp.ts'
import type { ModelServices } from '../models/models.ts'
import { backupPlaces } from '../operations/backups/backup-places.ts'
import { makeBackup } from '../operations/backups/backup.ts'
import { Backups, NO_SCHEDULE, SCHEDULE_ADVICE } from '../operations/backups/backups.ts'
import { type FileProblems, toSentence } from '../operations/file-problems.ts'
import { findAgentDir, installAgentDependencies } from '../operations/host-agent-checkout.ts'
import type { Log } from '../operations/log.ts'
import { Onboarding } from '../operations/onboarding.ts'
import { ownCheckout, Updates } from '../operations/updates/updates.ts'
import { readVersion } from '../operations/version.ts'
import { authenticatorOf } from '../people/auth.ts'
import { Invitations } from '../people/invitations.ts'
import { Oidc, readClientSecret } from '../people/oidc.ts'
import { Pairing } from '../people/pairing.ts'
import { Passkeys } from '../people/passkeys.ts'
import { Throttle } from '../people/throttle.ts'
import type { Home } from '../profiles/home.ts'
import type { HookRecords } from '../profiles/hooks/records.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { Profiles } from '../profiles/profiles.ts'
import { Skills } from '../profiles/skills/skills.ts'
import { Edits } from '../sessions/edits.ts'
import { HostSessionWatcher } from '../sessions/host-db/host-session-watcher.ts'
import { HostSessions } from '../sessions/host-db/host-sessions.ts'
import { ImportJobs } from '../sessions/imports/import-jobs.ts'
import type { ImportTarget } from '../sessions/imports/imports.ts'
import { SharePages } from '../sessions/shares/share-pages.ts'
import { Shares } from '../sessions/shares/shares.ts'
import { type AssetTable, isExecutable, packedHere } from '../store/packed.ts'
import { BackgroundPrompts } from '../turns/background-prompts.ts'
import { HomeGuards } from '../turns/context/guards.ts'
import { mayApprove } from '../cron/run-job.ts'
import { scriptDenial } from '../turns/context/permissions/home-rules.ts'
import { type StartingFacts, startingFacts } from '../turns/context/project-facts.ts'
import type { Services } from '../turns/context/services.ts'
import { ToolsetSettings } from '../turns/context/toolset-settings.ts'
import { ExternalAgentOptions } from '../turns/external-agent-options.ts'
import { ExternalAgentSessions } from '../turns/external-agent-sessions.ts'
import { outlivesTurn } from '../schema/question.ts'
import { MessageQueue } from '../turns/queue.ts'
import { SessionViews } from '../turns/session-view.ts'
import { SideQuestions } from '../turns/side-questions.ts'
import { TurnStarter } from '../turns/start-turn.ts'
import type { Turns } from '../turns/turns.ts'
import { Checkpoints } from '../workspaces/checkpoints/checkpoints.ts'
import { FileSearch } from '../workspaces/file-search.ts'
import { PersonGit, type RequireMayChange } from '../workspaces/git-person.ts'
import { FileScopes } from '../workspaces/file-scope.ts'
import { SessionFiles } from '../workspaces/file-scope.ts'
import { personShell, type PersonShell } from '../workspaces/terminals/terminals.ts'
import { Terminals } from '../workspaces/terminals/terminals.ts'
import { withCommittedCalls } from './cell.ts'
import { CellDisk } from './cell-disk.ts'
import { CommandPlaces } from './command-place.ts'
import type { Commands } from '../commands/commands.ts'
import { AppData } from './data.ts'
import { Engine } from './engine.ts'
import { importTarget } from './import-target.ts'
import { thisMachine } from '../operations/checks/machine.ts'
import { Maintenance } from './maintenance.ts'
import { EventReports, type NotificationTestOptions } from '../notifications/event-reports.ts'
import { Readiness } from './readiness.ts'
import { continuedTasks } from '../turns/scheduled-tasks.ts'
import { Telemetry } from './telemetry.ts'
import { late } from './late.ts'
import { Activity } from './worker-cell.ts'

export type AppOptions = {
  /** Turned by hand in tests. */
  clock?: Clock | undefined
  /** How long turns may take to reach a step boundary when the service stops, in milliseconds. */
  parkMs?: number | undefined
  notificationTests?: NotificationTestOptions | undefined
  /** PBKDF2 iterations, for tests. */
  passwordIterations?: number | undefined
  isConfigTrusted?: boolean | undefined
  /** Path of the SQLite addon, in the single-file build. */
  addon?: string | undefined
  /** Absent in tests: this directory alone. */
  cell?: Owned | undefined
  /** Built once for many services in tests. */
  assets?: () => Promise<AssetTable>
  /** The checkout that updates apply to; null for none, detected when absent. */
  checkout?: string | null
  /** Read from git or the build when absent. */
  version?: string
  /** Replaces the process by the program that is in the checkout now. */
  restart?: (() => Promise<unknown>) | undefined
  /** Calls `work` when the service has its requests. Absent in tests: at once. */
  whenDue?: (work: () => void) => void
}

/** What has to be waited for before the rest can be built. */
type Ready = {
  clock: Clock
  cell: Owned
  version: string
  /** Directory of our own sources. */
  root: string
  /** The proxy for outgoing requests; undefined without one. */
  dispatcher: Dispatcher | undefined
  readiness: Readiness
  telemetry: Telemetry
}

/** How long turns may take to reach a step boundary, and the engines of stopped turns to finish. */
const CLOSE_TIMEOUT_MS = 8_000

/** What handlers reach through `ctx.app`: each member is a service. */
export class App extends AppData {
  readonly version: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly assets: () => Promise<AssetTable>

  // Whether the service works
  readonly readiness: Readiness
  declare readonly proxyCheck: ProxyCheck
  /** Undefined where they are off. */
  readonly metrics: Telemetry['metrics']
  /** Counts finished requests; undefined where metrics are off. */
  readonly onRequest: ((finished: CountedRequest) => void) | undefined
  readonly #telemetry: Telemetry
  readonly #maintenance: Maintenance
  readonly fileProblems: FileProblems
  readonly settingChanges: SettingChanges
  declare readonly onboarding: Onboarding
  readonly backups: Backups
  readonly updates: Updates
  readonly activity: Activity

  // Sign-in
  readonly authenticator: Authenticator
  declare readonly pairing: Pairing
  declare readonly passkeys: Passkeys
  declare readonly invitations: Invitations
  /** Undefined: no provider is configured. */
  readonly oidc: Oidc | undefined
  /** Wrong pairing codes, passkeys, tokens of links, and answers of the provider count as wrong passwords do, but apart from them. */
  readonly pairingThrottle: Throttle
  readonly passkeyThrottle: Throttle
  readonly oidcThrottle: Throttle
  readonly answerThrottle: Throttle
  readonly shareThrottle: Throttle

  // Profiles and workspaces
  declare readonly profiles: Profiles
  readonly skills: Skills
  readonly guards: HomeGuards
  declare readonly toolsets: ToolsetSettings
  readonly files: SessionFiles
  readonly disk: CellDisk
  declare readonly fileSearch: FileSearch
  readonly checkpoints: Checkpoints
  readonly processes: ProcessRegistry
  readonly terminals: Terminals

  // Sessions
  readonly hostSessions: HostSessions
  readonly hostSessionWatcher: HostSessionWatcher
  readonly imports: ImportJobs
  declare readonly shares: Shares
  declare readonly sharePages: SharePages
  declare readonly edits: Edits

  // Models and turns
  readonly #services: Services
  readonly models: ModelServices
  readonly mcp: Mcp
  readonly turns: Turns
  readonly compressions: Services['compressions']
  readonly grants: Services['grants']
  readonly hooks: HookRecords
  readonly spending: Services['spending']
  readonly web: Services['web']
  readonly runners: Commands
  declare readonly commandPlaces: CommandPlaces
  readonly turnStarter: TurnStarter
  readonly queue: MessageQueue
  declare readonly sessionViews: SessionViews
  readonly sideQuestions: SideQuestions
  declare readonly backgroundPrompts: BackgroundPrompts
  declare readonly externalAgentOptions: ExternalAgentOptions
  declare readonly externalAgentSessions: ExternalAgentSessions
  readonly cron: Cron
  declare readonly clientApi: ClientApi
  readonly apiConversations: Conversations
  readonly reports: EventReports
  readonly notifications: EventReports['notifications']

  readonly #installing = new AbortController()
  #isClosed = false

  static async open(config: Config, log: Log, options: AppOptions = {}): Promise<App> {
    const { cell = alone, clock = systemClock } = options
    const packed = packedHere()
    const root = packed ? import.meta.dirname : join(import.meta.dirname, '..', '..')
    const version =
      options.version ??
      (await readVersion({ root, builtIn: packed?.version, path: config.env.PATH }))
    const readiness = new Readiness(config.stateDir, thisMachine, {
      clock,
      isAway: () => !cell.isReachable(),
    })
    const telemetry = await Telemetry.open(config, version, log, {
      runningTurns: () => app.turns.count(),
      queuedMessages: () =>
        app.turns.running().reduce((n, each) => n + app.queue.list(each.sessionId).length, 0),
      eventStreams: () => app.hub.readers(),
      freeBytes: () => readiness.freeBytes(),
    })
    const dispatcher = await createProxyDispatcher(config.env)
    const ready = { clock, cell, version, root, dispatcher, readiness, telemetry }
    const app: App = new App(config, log, ready, options)
    await app.#services.runners.ready
    const { whenDue = work => work() } = options
    whenDue(() => {
      if (app.#isClosed) return
      app.#maintenance.start()
      app.disk.start()
      // Ends what a deletion left.
      void app.profiles
      app.#catchUp()
    })
    return app
  }

  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: the list of all services, in the order in which they need each other.
  private constructor(config: Config, log: Log, ready: Ready, options: AppOptions) {
    super(config, log, ready.clock, ready.cell, options)
    const { clock, cell, version, root, dispatcher, readiness, telemetry } = ready
    const { homes, hub, sessions, settings, workspaces } = this
    const { stateDir, userHome } = config
    const { addon } = options
    const path = config.env.PATH
    this.startedAt = clock.now()
    this.version = version
    this.assets = options.assets ?? createAssets(packedHere())
    this.readiness = readiness
    this.#telemetry = telemetry
    this.metrics = telemetry.metrics
    this.onRequest = telemetry.onRequest
    late(this, 'proxyCheck', () => new ProxyCheck(clock))
    if (config.metricsToken !== null) this.maskSecret(config.metricsToken)

    late(this, 'shares', () => new Shares(join(stateDir, 'shares.json'), clock, log))
    late(this, 'sharePages', () => new SharePages(this.shares, this))
    this.shareThrottle = new Throttle({ clock })
    this.answerThrottle = new Throttle({ clock })
    this.reports = new EventReports(this, dispatcher, options.notificationTests)
    this.notifications = this.reports.notifications
    this.skills = new Skills(userHome)
    this.guards = new HomeGuards(this.acceptedGuards, this.acceptedSettings, this.skills)
    late(
      this,
      'profiles',
      () =>
        new Profiles({
          homes,
          acceptedSettings: this.acceptedSettings,
          env: config.env,
          log: log.warn,
          onDeleted: name => {
            this.mcp.forget(join(homes.dir, name))
            this.shares.endProfile(name)
            const about = { code: 'profile_deleted', values: { name } } as const
            this.notify('info', `Profile '${name}' was deleted.`, about)
          },
        }),
    )

    this.hostSessions = new HostSessions({
      sessions,
      isActive: id => this.turns.isActive(id),
      lastWorkspace: home => workspaces.last(homes.of(home.name)),
      trashDir: join(stateDir, 'trash'),
      clock,
      log: log.warn,
      onChange: home => this.hostSessionWatcher.checkNow(home),
      addon,
    })
    this.hostSessionWatcher = new HostSessionWatcher({
      clock,
      rowsOf: home => this.hostSessions.rows(home),
      problemOf: home => this.hostSessions.problem(home),
      enabled: () => settings.get().show_cli_sessions,
      publish: event => {
        if (event.changed) this.hostSessions.refreshAll(homes.of(event.profile))
        hub.publish('gateway', { type: 'gateway', data: event })
      },
    })
    this.hostSessionWatcher.start()
    this.updates = this.#openUpdates(root, options)
    this.#installHostAgent()

    const areas = new FileScopes(
      config,
      (asking, id) => this.#placeOf(asking.name, id),
      home => otherHomePaths(homes, homes.of(home.name)),
    )
    this.files = new SessionFiles(config, areas, clock)
    this.disk = new CellDisk(config, clock, (used, limit) =>
      this.notify('error', this.disk.sentence, { code: 'cell_full', values: { used, limit } }),
    )
    this.imports = new ImportJobs(join(stateDir, 'imports.json'), clock, log)
    this.checkpoints = new Checkpoints({
      boundsOf: (home, workspace) => this.files.areas.scopeFor(home, workspace),
      clock,
      resolve: id => sessions.resolve(id),
      log: log.warn,
    })
    this.processes = new ProcessRegistry({
      clock,
      resolve: id => sessions.resolve(id),
      endOthers: async () => void (await endDetached(config.env[MARK_VARIABLE])),
      onEnded: (id, program) => this.#reportProcess(id, program),
    })
    late(this, 'fileSearch', () => new FileSearch(listFiles, clock))
    this.terminals = new Terminals({
      clock,
      path,
      isEnabled: config.hasTerminal,
    })

    const liveDir = join(stateDir, 'live')
    const { services, turns } = new Engine({
      config,
      version,
      dispatcher,
      homes,
      sessions,
      hub,
      clock,
      log,
      promptCache: this.promptCache,
      toolOutput: this.toolOutput,
      hostSessions: this.hostSessions,
      skills: this.skills,
      checkpoints: this.checkpoints,
      guards: this.guards,
      processesOf: session => this.processes.of(session),
      cron: () => this.cron,
      liveDir,
      resume: {
        parkMs: options.parkMs,
        mayMove: cell.epoch > 0,
        tookOver: cell.tookOver,
        isReplaced: () => cell.lost.aborted,
      },
      missingFiles: cell.missing,
      wrapAgent: agent => telemetry.wrapAgent(withCommittedCalls(agent, cell, this.disk)),
      onIdle: id => {
        if (!settings.get().sync_to_insights) return
        void this.hostSessions.mirror(homes.of(sessions.row(id)?.profile), id)
      },
      onDone: id => void this.queue.next(id),
      onEnded: turn => this.reports.onEnded(turn),
      onQueue: id => this.queue.publish(id),
      onPlanAnswer: (id, answer) => void this.queue.answerPlan(id, answer),
    })
    this.#services = services
    const { models } = services
    this.models = models
    this.turns = turns
    this.mcp = this.#services.mcp
    this.compressions = this.#services.compressions
    this.grants = this.#services.grants
    this.hooks = this.#services.hooks
    this.spending = this.#services.spending
    this.web = this.#services.web
    this.runners = this.#services.runners
    late(this, 'commandPlaces', () => new CommandPlaces(config, this.runners, this.guards))
    this.reports.start()
    late(this, 'toolsets', () => new ToolsetSettings(sessions, this.promptCache, homes, this.web))

    this.turnStarter = new TurnStarter(sessions, turns, homes, models, workspaces)
    this.queue = new MessageQueue(this, turns, this.turnStarter, log.warn)
    this.sideQuestions = new SideQuestions(this.#services, turns, this.turnStarter, liveDir)
    late(this, 'sessionViews', () => new SessionViews(this, turns, models))
    late(this, 'backgroundPrompts', () => new BackgroundPrompts(sessions, hub, this.turnStarter))
    late(
      this,
      'edits',
      () =>
        new Edits(
          sessions,
          id => {
            turns.requireIdle(id)
            // A plan that waits for an answer may be in the messages that change.
            turns.questions.denyAll(id, 'edit', question => !outlivesTurn(question))
          },
          this.resetSession,
        ),
    )
    late(this, 'externalAgentOptions', () => new ExternalAgentOptions(this.#services))
    late(this, 'externalAgentSessions', () => new ExternalAgentSessions(this.#services, turns))
    this.apiConversations = new Conversations(join(stateDir, 'cache', 'api.db'), addon, log.warn)
    late(
      this,
      'clientApi',
      () => new ClientApi(this.#services, turns, this.turnStarter, this, this.apiConversations),
    )
    this.cron = new Cron({
      clock,
      isSole: cell.epoch > 0,
      homes: () => homes.list(),
      start: (home, input) => this.turnStarter.unattended(home, input),
      stop: (streamId, failure) => turns.cancel(streamId, failure),
      continued: continuedTasks(sessions, homes, this.turnStarter),
      forbids: (home, script) =>
        this.guards.of(home).commands() ??
        scriptDenial(home, script, mayApprove(home), this.guards.of(home)),
      runnerFor: (home, jobId) => this.runners.runnerFor({ home, workspace: null, owner: jobId }),
      skill: (home, name) => this.skills.contentIfAny(home, name),
      log: log.warn,
      onRun: (home, run) => this.reports.onRun(home.name, run),
    })

    this.authenticator = authenticatorOf(this.auth, this.apiTokens)
    late(this, 'pairing', () => new Pairing(clock, hash => this.auth.isSignedIn(hash)))
    late(this, 'passkeys', () => new Passkeys(this.people, clock, log))
    late(
      this,
      'invitations',
      () =>
        new Invitations(this.people, clock, id => {
          this.auth.endPerson(id)
          this.notifications.store.removeDevicesOf((_, person) => person === id)
        }),
    )
    this.oidc = this.#openOidc(dispatcher)
    this.pairingThrottle = new Throttle({ clock })
    this.passkeyThrottle = new Throttle({ clock })
    this.oidcThrottle = new Throttle({ clock })

    late(this, 'onboarding', () => new Onboarding(config, settings, this.auth, workspaces, models))
    this.backups = this.#openBackups(addon)
    this.#maintenance = new Maintenance(this)
    this.fileProblems = this.#maintenance.fileProblems
    this.settingChanges = this.#maintenance.settingChanges
    this.activity = new Activity(this)
  }

  /** A function of its own, as the listener of requests takes it. */
  readonly makeCtx = (...base: CtxParameters): Ctx => new Ctx(this, ...base)

  /** The service listens: it is ready from now on. */
  onListening(): void {
    this.readiness.enter('running')
  }

  /** A sentence for each configuration file that cannot be read. */
  configProblems(): string[] {
    return this.fileProblems.list().map(toSentence)
  }

  startingFacts(home: Home, workspace: string): Promise<StartingFacts> {
    const { env, userHome } = this.config
    return startingFacts(this.files.areas.scopeFor(home, workspace), { path: env.PATH, userHome })
  }

  /** What a terminal of the person runs. */
  personShell(home: Home): PersonShell {
    return personShell(home.childEnv(), this.config.userHome)
  }

  /** Git as the person runs it, in a workspace. */
  personGit(home: Home, root: string, requireMayChange?: RequireMayChange): Promise<PersonGit> {
    return PersonGit.open(root, this.personShell(home).env, requireMayChange)
  }

  importInto(home: Home, workspace: string, isOwner: boolean): ImportTarget {
    return importTarget({
      profile: home.name,
      workspace,
      find: id => this.sessions.imported(id),
      write: (id, entries) => this.sessions.writeImported(id, entries),
      area: () => this.files.areas.scopeFor(home, workspace),
      projects: isOwner ? this.projects : null,
      clock: this.clock,
    })
  }

  /** Ends turns while the journal can still record their end, then everything else. */
  async close(): Promise<void> {
    const { runners, external, languageServers } = this.#services
    this.#isClosed = true
    this.readiness.enter('stopping')
    this.#maintenance.close()
    this.disk.close()
    this.hostSessionWatcher.stop()
    this.updates.close()
    this.#installing.abort()
    this.oidc?.close()
    this.sideQuestions.close()
    const working = [this.cron, this.turns, external, this.backups, this.imports]
    await waitAtMost(
      systemClock,
      CLOSE_TIMEOUT_MS,
      // Scheduled tasks end their own turns and record that they were interrupted.
      Promise.all(working.map(each => each.close())).then(() =>
        Promise.all([
          this.models.flush(),
          this.checkpoints.close(),
          this.processes.close(),
          this.terminals.close(),
        ]),
      ),
    )
    await Promise.all([this.reports.close(), this.#telemetry.close()])
    languageServers.close()
    await runners.close()
    await this.mcp.close()
    this.hub.close()
    this.auth.close()
    await this.sessions.close()
    this.apiConversations.close()
    this.stopWatching()
  }

  protected override onSignOut(ids: readonly string[]): void {
    this.notifications.store.removeDevicesOf(id => ids.includes(id ?? ''))
  }

  protected override onSessionDeleted(id: string): void {
    super.onSessionDeleted(id)
    this.#services.external.forget(id)
  }

  /** What an earlier process left, and what became due while the service was not running. */
  #catchUp(): void {
    const { reportedUntil } = this.notifications
    // A time in the future is that of a clock that was ahead.
    if (reportedUntil !== null) this.cron.reportSince(Math.min(reportedUntil, this.clock.now()))
    this.turns
      .resume({
        endpointOf: id => this.turnStarter.endpointToResume(id),
        workOf: {
          task: sessionId => this.cron.resume(sessionId),
          program: id => this.clientApi.resume(id),
        },
      })
      .catch((error: unknown) => this.log.error('a turn could not be closed', error))
    this.cron.start()
  }

  /** Where a session works, for a request of a profile: it may be a session of the host agent. */
  #placeOf(profile: string, id: string): { home: Home; workspace: string } {
    const row = this.sessions.row(id)
    const home = this.homes.of(row ? row.profile : profile)
    const workspace = row ? row.workspace : this.hostSessions.workspaceOf(home, id)
    if (workspace === undefined) throw missing('Session not found', { code: 'session_not_found' })
    return { home, workspace: workspace || this.workspaces.defaultOf(home) }
  }

  #reportProcess(session_id: string, program: { command: string; exit_code: number | null }): void {
    const code = program.exit_code ?? '?'
    const command = redact(program.command).slice(0, 200)
    this.hub.publish('notices', {
      type: 'notice',
      data: {
        level: code === 0 ? 'info' : 'warn',
        message: `Exited with code ${code}: ${command}`,
        code: 'process_ended',
        values: { code, command },
        session_id,
      },
    })
  }

  #openUpdates(root: string, { checkout, restart }: AppOptions): Updates {
    const { config, clock, log } = this
    // Several cells run from the same files, which are not theirs to replace. The executable does not run from the
    // checkout that may contain it: pulling there would not update it.
    const own = config.cluster?.runBy != null || isExecutable() ? null : ownCheckout(root)
    const webui = config.cluster?.runBy != null || checkout === undefined ? own : checkout
    return new Updates({
      clock,
      checkouts: () => ({ webui, agent: findAgentDir(config) }),
      env: config.env,
      restart,
      log: log.warn,
    })
  }

  /** Installs the host agent in the background where the configuration asks for it. */
  #installHostAgent(): void {
    const { config, homes, log } = this
    const mayInstall = config.autoInstall && homes.base.problems().every(({ in_force }) => in_force)
    void installAgentDependencies({
      agentDir: config.agentDir,
      baseHome: config.baseHome,
      enabled: mayInstall,
      env: mayInstall ? homes.base.childEnv() : {},
      log,
      uid: process.getuid?.(),
      signal: this.#installing.signal,
    })
  }

  #openOidc(dispatcher: Dispatcher | undefined): Oidc | undefined {
    const { config, clock, log } = this
    if (!config.oidc) return undefined
    const clientSecret = readClientSecret(config.oidc)
    if (clientSecret !== null) this.maskSecret(clientSecret)
    return new Oidc({ config: config.oidc, clientSecret, clock, dispatcher, log })
  }

  #openBackups(addon: string | undefined): Backups {
    const { config, clock, homes, log, version } = this
    const passphrase = config.env.AGENT_WEBUI_BACKUP_PASSPHRASE || null
    const places = () => backupPlaces(config, homes.list())
    const backups = new Backups({
      clock,
      path: join(config.stateDir, 'backups.json'),
      sources: () => places().places.map(({ dir }) => dir),
      make: (target, signal) =>
        makeBackup({ ...places(), version, addon, now: clock.now(), target, passphrase, signal }),
      hasKeys: passphrase !== null,
      suggestedDir: join(config.userHome, 'agent-backups'),
      log,
    })
    if (backups.state().was_scheduled) log.warn(`${NO_SCHEDULE}. ${SCHEDULE_ADVICE}`)
    return backups
  }
}
