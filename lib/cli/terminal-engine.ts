/**
 * The engine of the service without the service: the same turns, tools, prompt and rules, over a transcript of its own
 * in a private temporary directory that goes with the process. The service's state directory is never opened.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Emit } from '../agent/types.ts'
import type { TurnRecorder } from '../checkpoints/turn-recorder.ts'
import { createHostSessions } from '../host-db/host-sessions.ts'
import { callableSkills } from '../commands.ts'
import type { Config } from '../config.ts'
import { createCron } from '../cron/cron.ts'
import { unavailable } from '../errors.ts'
import { createEngine } from '../app/engine.ts'
import { createAcceptedGuards } from '../guards/accepted-guards.ts'
import { createHub } from '../hub.ts'
import { openPacked } from '../packed.ts'
import { createHomes } from '../profiles/homes.ts'
import { createKnownSecrets } from '../profiles/known-secrets.ts'
import { redact, redactValue, watchSecrets } from '../redact/redact.ts'
import type { NewMessage } from '../schema/message.ts'
import { createSessions } from '../sessions/store.ts'
import { createSkills } from '../skills/skills.ts'
import { searchWorkerOf } from '../app/data.ts'
import { createToolOutput } from '../tool-output.ts'
import { createGuards } from '../turn-context/guards.ts'
import { createPromptCache } from '../turn-context/prompt-cache.ts'
import type { Questions } from '../turns/questions.ts'

/** What the terminal is told, and asked. */
export type TurnObserver = {
  event: Emit
  warning: (message: string) => void
  /** A message is whole. */
  message: (sessionId: string, message: NewMessage) => void
  prompt: (sessionId: string, text: string) => void
  approve: Questions['approve']
  clarify: Questions['clarify']
}

export type TerminalEngine = Awaited<ReturnType<typeof createTerminalEngine>>

const CLOSE_TIMEOUT_MS = 2_000

/** The page's way back to earlier files; a terminal has none. */
const NO_CHECKPOINTS: TurnRecorder = {
  beforeChange: async () => [],
  stopping: () => undefined,
  end: async () => undefined,
}

/** A scheduler that never looks at the clock: running tasks is the service's business. */
const noScheduler = () => () => undefined

export const createTerminalEngine = async (
  config: Config,
  {
    addon,
    version,
    watcher,
    problem,
  }: {
    addon: string | undefined
    version: string
    watcher: TurnObserver
    /** What would be a line of the service's log. */
    problem: (line: string, extra?: unknown) => void
  },
) => {
  const own = mkdtempSync(join(tmpdir(), 'agent-webui-chat-'))
  const place = (name: string) => join(own, name)
  const now = () => (performance.timeOrigin + performance.now()) / 1_000
  const homes = createHomes(config)
  // Until the process ends.
  watchSecrets(createKnownSecrets(homes.list))
  const hub = createHub({ boot: randomBytes(4).toString('hex') })
  const sessions = createSessions({
    dir: place('sessions'),
    trashDir: place('trash'),
    cacheDir: place('cache'),
    redact,
    onRow: () => undefined,
    onDeleted: () => undefined,
    log: problem,
    now,
    addon,
    ...searchWorkerOf(openPacked()),
  })
  const hostSessions = createHostSessions({
    sessions,
    isActive: () => false,
    lastWorkspace: home => home.dir,
    redact,
    redactValue,
    trashDir: place('trash'),
    now,
    log: problem,
    onChange: () => undefined,
    addon,
  })
  const skills = createSkills({ userHome: config.userHome, callable: callableSkills })
  // Read, never written: what was accepted in the page holds here, too.
  const guarding = createGuards({
    accepted: createAcceptedGuards(join(config.stateDir, 'accepted-guards.json')),
    redact,
  })
  const cron = createCron({
    homes: homes.list,
    start: () => Promise.reject(unavailable('Tasks are run by the service.')),
    stop: () => false,
    skill: () => null,
    forbids: () => null,
    redact,
    log: problem,
    ticker: noScheduler,
  })
  const { models, turns, mcp } = await createEngine({
    config,
    version,
    homes,
    sessions,
    hostSessions,
    skills,
    hub,
    promptCache: createPromptCache({ dir: place('prompts'), log: problem }),
    toolOutput: createToolOutput({ dir: place('tool-output'), log: problem }),
    checkpoints: { startTurn: () => NO_CHECKPOINTS },
    guardsFor: guarding.of,
    cron: () => cron,
    liveDir: place('live'),
    now,
    log: { info: problem, warn: problem, error: problem },
    surface: 'terminal',
    onWarning: watcher.warning,
    // Each event is shown before it is recorded: the person waits for it.
    wrapAgent: agent => (request, emit) =>
      agent(request, event => {
        watcher.event(event)
        emit(event)
      }),
    wrapPrompt: prompt => (turnPlace, tools, forbidden) => {
      const text = prompt(turnPlace, tools, forbidden)
      watcher.prompt(turnPlace.sessionId, text)
      return text
    },
    wrapContext: equip => (turn, questions, said) => {
      const { approve, clarify } = watcher
      const tools = equip(turn, { ...questions, approve, clarify }, said)
      return {
        ...tools,
        record(message, steered) {
          const recorded = tools.record(message, steered)
          watcher.message(turn.sessionId, message)
          return recorded
        },
      }
    },
  })

  return {
    homes,
    sessions,
    models,
    turns,
    now,
    /** Running turns and other programs end; the transcript of this process goes. */
    async close(): Promise<void> {
      const late = new Promise(resolve => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())
      await Promise.race([turns.close(), late])
      await Promise.all([cron.close(), mcp.close(), sessions.close()])
      rmSync(own, { recursive: true, force: true })
    },
  }
}
