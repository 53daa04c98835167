/** `agent-webui chat`: the engine at a terminal, in the directory one stands in, kept where the agent's own command line keeps it. */
import { makeDir } from '../store/make-dir.ts'
import {
  createSessionRecorder,
  newHostSessionId,
  newestHostSession,
  readHostSession,
  type RecordedMessage,
} from '../host-db/session-recorder.ts'
import { stateDbPath } from '../host-db/state-db.ts'
import type { Config } from '../config.ts'
import { invalid, messageOf, missing, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import { provisionalTitle } from '../sessions/title.ts'
import type { ChatArguments } from './arguments.ts'
import { createTerminalEngine } from './terminal-engine.ts'
import { createTurnOutput } from './turn-output.ts'
import type { Terminal } from './terminal.ts'

export type ChatOptions = {
  config: Config
  addon: string | undefined
  version: string
  terminal: Terminal
  cwd: string
  /** Called with what a signal means; answers how to stop listening. */
  onInterrupt: (interrupt: (code: number) => void) => () => void
}

const [OK, FAILED, MISUSED, INTERRUPTED] = [0, 1, 2, 130]

const HELP = '/new begins anew, /exit or Ctrl-D ends; Ctrl-C stops the answer.'

export const chat = async (asked: ChatArguments, given: ChatOptions): Promise<number> => {
  const { config, addon, terminal, cwd } = given
  let first = asked.message
  if (first === null && !terminal.interactive) {
    first = (await terminal.readAll()).trim()
    if (first === '') {
      terminal.note('There is no message: write one behind "chat", or pipe one in.')
      return MISUSED
    }
  }

  let stream: string | null = null
  let stopping = false
  const stop = (): void => {
    stopping = true
    if (stream !== null) engine.turns.cancel(stream)
  }
  const talk = createTurnOutput(terminal, {
    quiet: asked.quiet,
    approvalMs: () => home.settings().approvals.timeout * 1_000,
    stop,
  })
  let told = false
  const engine = await createTerminalEngine(config, {
    addon,
    version: given.version,
    watcher: {
      ...talk,
      prompt: (id, text) => record.prompt(id, text),
      message(id, message) {
        // What is said about the turn is no part of the conversation.
        if (message._error !== true) record.message(id, message as RecordedMessage)
      },
    },
    problem: line => talk.warning(line),
  })

  const findHome = (): Home => engine.homes.open(asked.profile ?? engine.homes.active())
  const home = await Promise.resolve()
    .then(findHome)
    .catch(async (error: unknown) => {
      await engine.close()
      throw error
    })
  // As the service does at its first start; other profiles are made by whoever wants one.
  makeDir(home.dir)
  const file = stateDbPath(home)
  const record = createSessionRecorder({
    file,
    addon,
    now: engine.now,
    onError(error) {
      if (!told) talk.warning(`This conversation cannot be kept in ${file}: ${messageOf(error)}`)
      told = true
    },
  })

  /** The conversation to go on with, or a new one, in the engine's transcript. */
  const open = (): { id: string; model: string | null; isNew: boolean } => {
    const id = asked.newest ? newestHostSession(file, addon) : (asked.resume ?? undefined)
    if (asked.newest && id === undefined) throw missing('There is no conversation to go on with.')
    const meta = { workspace: cwd, profile: home.name, llm_title_generated: true }
    if (id === undefined) {
      const fresh = newHostSessionId(new Date())
      engine.sessions.adopt(fresh, { ...meta, model: asked.model, title: fresh }, [])
      return { id: fresh, model: asked.model, isNew: true }
    }
    const stored = /^[\w-]+$/.test(id) ? readHostSession(file, addon, id) : undefined
    if (!stored) throw missing(`There is no conversation "${id}" in ${file}.`)
    const model = asked.model ?? stored.model
    engine.sessions.adopt(id, { ...meta, model, title: id }, stored.messages)
    return { id, model, isNew: false }
  }

  let session: ReturnType<typeof open> | null = null

  /** One message and its answer; the exit code it would mean. */
  const send = async (text: string): Promise<number> => {
    stopping = false
    await engine.models.ready(home)
    session ??= open()
    const { id } = session
    const { model } = engine.models.compatible(home, session.model)
    const endpoint = endpointOf(model)
    if (asked.model !== null && endpoint instanceof UserError) throw endpoint
    record.begin(id, {
      model: endpoint instanceof UserError ? model : endpoint.model,
      cwd,
      maxSteps: home.settings().agent.max_turns,
    })
    record.message(id, { role: 'user', content: text })
    record.title(id, provisionalTitle(text))
    const { turn, result } = await engine.turns.start({
      sessionId: id,
      text,
      attachments: [],
      patch: {},
      endpoint,
    })
    stream = turn.streamId
    if (stopping) engine.turns.cancel(stream)
    const outcome = await result
    stream = null
    talk.endLine()
    record.usage(id, {
      ...(outcome?.usage ?? turn.usage),
      provider: outcome?.provider ?? '',
      baseUrl: endpoint instanceof UserError ? '' : endpoint.baseUrl,
    })
    if (stopping) {
      terminal.note('Stopped.')
      return INTERRUPTED
    }
    if (outcome?.status === 'finished') return OK
    const { message, hint } = outcome?.failure ?? { message: 'The turn could not be finished.' }
    terminal.note([message, hint].filter(Boolean).join(' '))
    return FAILED
  }

  const endpointOf = (model: string) => {
    try {
      return engine.models.endpoint(home, model)
    } catch (error) {
      // The turn says it; the message is kept.
      if (error instanceof UserError) return error
      throw error
    }
  }

  const leave = (): void => {
    if (session) record.end(session.id, 'cli_close')
    session = null
  }

  /** A signal: the first stops the answer, without one and the second time it is the end. */
  const ended = Promise.withResolvers<number>()
  const deaf = given.onInterrupt(code => {
    if (code === INTERRUPTED && stream !== null && !stopping) stop()
    else {
      stop()
      ended.resolve(code)
    }
  })

  const prompt = async (): Promise<number> => {
    terminal.note(HELP)
    for (;;) {
      const line = (await terminal.ask('> '))?.trim()
      if (line === undefined || line === '/exit' || line === '/quit') return OK
      if (line === '/help') terminal.note(HELP)
      else if (line === '/new') {
        leave()
        asked = { ...asked, newest: false, resume: null }
      } else if (line !== '') await send(line)
    }
  }

  try {
    if (home.config.problem()) throw invalid(`config.yaml: ${home.config.problem()}`)
    const work = first === null ? prompt() : send(first)
    // Left behind when a signal was first; it has been told to stop.
    work.catch(() => undefined)
    return await Promise.race([work, ended.promise])
  } finally {
    deaf()
    await engine.close()
    leave()
    await record.flush()
    await terminal.drain()
  }
}
