/** Composition root: builds every long-lived part once and closes them in order. */
import { join } from 'node:path'
import { createAssets } from '../http/assets.ts'
import { createAuthenticator } from '../people/authenticator.ts'
import { callableSkills } from '../profiles/slash-commands.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { alone } from '../cluster/alone.ts'
import type { Owned } from '../cluster/types.ts'
import type { Config } from '../config.ts'
import { Ctx } from '../context.ts'
import { Cron } from '../cron/cron.ts'
import { type FileProblems, toSentence } from '../operations/file-problems.ts'
import type { SettingChanges } from '../commands/guards/setting-changes.ts'
import type { CtxParameters } from '../http/request-context.ts'
import type { Authenticator } from '../http/access.ts'
import type { AssetTable } from '../store/packed.ts'
import type { Log } from '../operations/log.ts'
import type { Onboarding } from '../operations/onboarding.ts'
import { packedHere } from '../store/packed.ts'
import { createProfiles, type Profiles } from '../profiles/profiles.ts'
import { redact } from '../base/redact/redact.ts'
import { createSkills, type Skills } from '../profiles/skills/skills.ts'
import { HomeGuards } from '../turns/context/guards.ts'
import { scriptDenial } from '../turns/context/permissions/home-rules.ts'
import { ToolsetSettings } from '../turns/context/toolset-settings.ts'
import { readVersion } from '../operations/version.ts'
import { type BackupServices, composeBackups } from './backups.ts'
import { type ClientApiServices, composeClientApi } from './client-api.ts'
import type { CommandRunners } from './command-runners.ts'
import { CommandPlaces } from './command-place.ts'
import { withCommittedCalls } from './cell.ts'
import { composeConversation, type ConversationServices } from './conversation.ts'
import { type AppData, type Composition, openAppData } from './data.ts'
import { createEngine, type Engine } from './engine.ts'
import { composeHost, type HostServices } from './host.ts'
import { startMaintenance } from './maintenance.ts'
import { composeIdentity, type IdentityServices } from './identity.ts'
import {
  composeNotifications,
  type NotificationServices,
  type NotificationTestOptions,
} from './notifications.ts'
import { composeOnboarding } from './onboarding.ts'
import { continuedTasks } from './scheduled-tasks.ts'
import { composeShares, type ShareServices } from './shares.ts'
import { composeTelemetry, type TelemetryServices } from './telemetry.ts'
import { type Activity, composeActivity } from './worker-cell.ts'
import { composeWorkspaces, type WorkspaceServices } from './workspaces.ts'

type StoredData = Pick<
  AppData,
  | 'homes'
  | 'personalSettings'
  | 'settings'
  | 'workspaces'
  | 'auth'
  | 'codes'
  | 'people'
  | 'audit'
  | 'apiTokens'
  | 'requestKeys'
  | 'hub'
  | 'toolOutput'
  | 'sessions'
  | 'projects'
  | 'notify'
>

type EngineServices = Pick<
  Engine,
  'models' | 'mcp' | 'turns' | 'compressions' | 'grants' | 'hooks' | 'spending' | 'web'
>

/** What handlers reach through `ctx.app`. */
export type App = StoredData &
  EngineServices &
  HostServices &
  WorkspaceServices &
  ConversationServices &
  ClientApiServices &
  NotificationServices &
  ShareServices &
  IdentityServices &
  BackupServices &
  TelemetryServices & {
    config: Config
    log: Log
    clock: Clock
    version: string
    /** Milliseconds since 1970. */
    startedAt: number
    assets: () => Promise<AssetTable>
    profiles: Profiles
    guards: HomeGuards
    commandPlaces: CommandPlaces
    runners: CommandRunners
    fileProblems: FileProblems
    settingChanges: SettingChanges
    skills: Skills
    toolsets: ToolsetSettings
    onboarding: Onboarding
    cron: Cron
    redact: (text: string) => string
    authenticator: Authenticator
    makeCtx: (...base: CtxParameters) => Ctx
    /** A sentence for each configuration file that cannot be read. */
    configProblems: () => string[]
    activity: Activity
    /** Ends turns while the journal can still record their end, then everything else. */
    close: () => Promise<void>
  }

export type AppOptions = {
  /** Turned by hand in tests. */
  clock?: Clock | undefined
  /** How long turns may take to reach a step boundary when the service stops, in milliseconds. */
  parkMs?: number | undefined
  notificationTests?: NotificationTestOptions | undefined
  /** PBKDF2 iterations, for tests. */
  passwordIterations?: number | undefined
  isConfigTrusted?: boolean | undefined
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
}

/** How long turns may take to reach a step boundary, and the engines of stopped turns to finish. */
const CLOSE_TIMEOUT_MS = 8_000

const within = (ms: number, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work, new Promise(resolve => setTimeout(resolve, ms).unref())])

/** What an earlier process left, and what became due while the service was not running. */
const catchUp = ({ notifications, cron, clientApi, turns, turnStarter, clock, log }: App): void => {
  const { reportedUntil } = notifications
  // A time in the future is that of a clock that was ahead.
  if (reportedUntil !== null) cron.reportSince(Math.min(reportedUntil, clock.now()))
  turns
    .resume({
      endpointOf: turnStarter.endpointToResume,
      workOf: { task: id => cron.resume(id), program: clientApi.resume },
    })
    .catch((error: unknown) => log.error('a turn could not be closed', error))
  cron.start()
}

/** How turns continue after a stop. */
const resumeOf = ({ tookOver, lost }: Owned, parkMs: number | undefined) => ({
  parkMs,
  tookOver,
  isReplaced: () => lost.aborted,
})

export const createApp = async (
  config: Config,
  log: Log,
  options: AppOptions = {},
): Promise<App> => {
  const [{ stateDir }, { cell = alone, clock = systemClock }] = [config, options]
  const [startedAt, packed] = [clock.now(), packedHere()]
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '..', '..')
  const version =
    options.version ??
    (await readVersion({ root, builtIn: packed?.version, path: config.env.PATH }))
  const assets = options.assets ?? createAssets(packed)
  const data = openAppData(config, {
    ...options,
    log,
    clock,
    isShared: cell.epoch > 0,
    onSignOut: ids =>
      notifier.services.notifications.store.removeDevicesOf(id => ids.includes(id ?? '')),
  })
  const { homes, hub, sessions, settings } = data
  const composition: Composition = { config, log, clock, data, cell }

  const shareServices = composeShares(composition)
  const notifier = composeNotifications(composition, () => engine, options.notificationTests)
  const skills = createSkills({ userHome: config.userHome, callable: callableSkills })
  const guards = new HomeGuards(data.acceptedGuards, data.acceptedSettings, skills)
  const profiles = createProfiles({
    ...data,
    env: config.env,
    log: log.warn,
    onDeleted: name => {
      engine.mcp.forget(join(homes.dir, name))
      shareServices.shares.endProfile(name)
      const about = { code: 'profile_deleted', values: { name } } as const
      data.notify('info', `Profile '${name}' was deleted.`, about)
    },
  })
  const host = composeHost(composition, {
    ...options,
    root,
    isActive: id => engine.turns.isActive(id),
  })
  const { hostSessions } = host.services
  const workspaceServices = composeWorkspaces(composition, { hostSessions })
  const { files, checkpoints, processes, terminals, imports } = workspaceServices

  const observed = () => ({ turns: engine.turns, queue: conversation.queue })
  const telemetry = await composeTelemetry(composition, version, observed)
  const engine: Engine = await createEngine({
    ...data,
    ...composition,
    version,
    hostSessions,
    skills,
    checkpoints,
    guards,
    processesOf: processes.of,
    cron: () => cron,
    liveDir: join(stateDir, 'live'),
    resume: resumeOf(cell, options.parkMs),
    wrapAgent: agent => telemetry.wrapAgent(withCommittedCalls(agent, cell)),
    onIdle(id) {
      if (!settings.get().sync_to_insights) return
      void hostSessions.mirror(homes.of(sessions.row(id)?.profile), id)
    },
    onDone: id => void conversation.queue.next(id),
    onEnded: notifier.onEnded,
    onQueue: id => conversation.queue.publish(id),
    onPlanAnswer: (id, answer) => void conversation.answerPlan(id, answer),
  })
  const { models, turns, external, mcp } = engine
  notifier.start()
  const conversation = composeConversation(composition, engine, skills)
  const clientApi = composeClientApi(composition, engine, conversation, options.addon)

  const cron = new Cron({
    clock,
    isSole: cell.epoch > 0,
    homes: homes.list,
    start: conversation.turnStarter.unattended,
    stop: turns.cancel,
    continued: continuedTasks(data, conversation.turnStarter),
    forbids: (home, script) =>
      guards.of(home).commands() ??
      scriptDenial(home, script, home.settings().approvals.cron_mode !== 'deny', guards.of(home)),
    runnerFor: (home, jobId) => engine.runners.runnerFor({ home, workspace: null, owner: jobId }),
    skill: skills.contentIfAny,
    log: log.warn,
    onRun: (home, run) => notifier.onRun(home.name, run),
  })
  const identity = composeIdentity(composition, engine.dispatcher, id => {
    data.auth.endPerson(id)
    notifier.services.notifications.store.removeDevicesOf((_, person) => person === id)
  })
  const backups = composeBackups(composition, { ...options, version })
  const active = { ...workspaceServices, ...notifier.services, turns, cron, backups }
  const maintenance = startMaintenance(composition, { files, checkpoints, cron, turns })

  const app: App = {
    ...data,
    ...engine,
    ...host.services,
    ...workspaceServices,
    ...conversation,
    ...clientApi,
    ...shareServices,
    ...identity,
    ...notifier.services,
    backups,
    config,
    log,
    clock,
    version,
    startedAt,
    assets,
    profiles,
    guards,
    commandPlaces: new CommandPlaces(config, engine.runners, guards),
    fileProblems: maintenance.fileProblems,
    settingChanges: maintenance.settingChanges,
    skills,
    toolsets: new ToolsetSettings(sessions, data.promptCache, homes, engine.web),
    onboarding: composeOnboarding(composition, engine),
    cron,
    redact,
    authenticator: createAuthenticator(data.auth, data.apiTokens),
    ...telemetry.services,
    makeCtx: (...base) => new Ctx(app, ...base),
    configProblems: () => maintenance.fileProblems.list().map(toSentence),
    activity: composeActivity(composition, active),
    async close() {
      telemetry.services.readiness.enter('stopping')
      maintenance.close()
      host.close()
      identity.oidc?.close()
      conversation.sideQuestions.close()
      await within(
        CLOSE_TIMEOUT_MS,
        // Scheduled tasks end their own turns and record that they were interrupted.
        Promise.all([cron, turns, external, backups, imports].map(each => each.close())).then(() =>
          Promise.all([models.flush(), checkpoints.close(), processes.close(), terminals.close()]),
        ),
      )
      await Promise.all([notifier.close(), telemetry.close()])
      engine.languageServers.close()
      await engine.runners.close()
      await mcp.close()
      hub.close()
      data.auth.close()
      await sessions.close()
      clientApi.apiConversations.close()
      data.closeData()
    },
  }
  catchUp(app)
  return app
}
