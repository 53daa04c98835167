/** The terminal dock below the page: the shells of the shown chat's folder, and the screen of one. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useChat, useShell, useWorkspaces } from '../../contexts.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Divider } from '../../parts/divider.tsx'
import { lazyState } from '../../parts/lazy-state.ts'
import { useApp } from '../shell/context.ts'
import { formatKeys } from '../shell/keys.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from '../terminal/strings.ts'
import { t as tw } from '../workspace/strings.ts'
import { TerminalScreen } from '../terminal/terminal-screen.tsx'
import { type Terminal, Terminals } from '../terminal/terminals.ts'

const DOCK_MIN = 120
const DOCK_MAX = 1_200
const DOCK_DEFAULT = 300

const clamp = (px: number): number => Math.round(Math.min(DOCK_MAX, Math.max(DOCK_MIN, px)))

const useHeight = () => {
  const { device } = useShell().platform
  const height = useSignal(clamp(device.read('dock-height', DOCK_DEFAULT)))
  const resize = (px: number): void => {
    height.value = clamp(px)
    device.write('dock-height', height.value)
  }
  return { height: height.value, resize }
}

/** By folder and profile, for all chats: another chat in the same folder has the same screen. */
const folders = lazyState(() => new Map<string, Terminals>(), { isShared: true })

const Row = ({
  terminals,
  terminal,
  number,
}: {
  terminals: Terminals
  terminal: Terminal
  number: number
}) => {
  const { terminal_id, shell, status, exit_code } = terminal
  const name = t('terminal.name', { shell, number })
  const isShown = terminals.current.value?.terminal_id === terminal_id
  const hasBell = terminals.bells.value.has(terminal_id)
  const label =
    status === 'exited'
      ? t('terminal.ended', { name, code: exit_code ?? '?' })
      : hasBell
        ? t('terminal.bell', { name })
        : name
  return (
    <li class={isShown ? 'terminal-row terminal-row-shown' : 'terminal-row'}>
      <button
        type="button"
        class={status === 'exited' ? 'terminal-name terminal-over' : 'terminal-name'}
        aria-current={isShown}
        aria-label={label}
        title={terminal.cwd}
        onClick={() => terminals.choose(terminal)}
      >
        {name}
        {hasBell && <span class="terminal-bell" />}
      </button>
      <IconButton
        icon="close"
        size={14}
        label={t('terminal.close', { name })}
        onClick={() => void terminals.close(terminal)}
      />
    </li>
  )
}

const Blank = ({ title, text }: { title: string; text: string }) => (
  <>
    <h3>{title}</h3>
    <p>{text}</p>
  </>
)

/** The terminals of the shown chat's folder; null until it has a session. */
const useTerminals = (): Terminals | null => {
  const app = useApp()
  const { transcript: chat, choices } = useChat()
  const { layout, attempt } = useShell()
  const all = folders(app)
  const id = chat.sessionId.value
  const details = chat.details.value
  const key = details?.session_id === id ? `${details.profile}\0${details.workspace}` : null
  const isAsked = layout.dock.value === 'asked'
  if (key !== null && !all.has(key)) all.set(key, new Terminals(app.shell, id))
  const terminals = key === null ? null : all.get(key)!
  useEffect(() => {
    if (terminals) {
      if (isAsked) layout.dock.value = 'open'
      void terminals.show(id, isAsked)
    } else if (isAsked && !id) void attempt(() => choices.ensureSession())
  }, [terminals, id, isAsked])
  return terminals
}

const Shells = ({ terminals }: { terminals: Terminals }) => {
  const { state, problem, current, isOpening } = terminals
  if (state.value === 'failed')
    return (
      <div class="panel-blank" role="alert">
        <p>{t('terminal.failed')}</p>
        <Button icon="refresh" onClick={() => void terminals.load()}>
          {t('list.retry')}
        </Button>
      </div>
    )
  if (current.value)
    return (
      <TerminalScreen
        key={current.value.terminal_id}
        terminal={current.value}
        terminals={terminals}
      />
    )
  if (state.value === 'loading' || isOpening.value)
    return (
      <p class="panel-note panel-late" role="status">
        {t('terminal.opening')}
      </p>
    )
  return (
    <div class="panel-blank">
      {problem.value ? (
        <Blank
          title={t('terminal.unavailable')}
          text={causeText(problem.value.words, problem.value.coded)}
        />
      ) : (
        <>
          <Blank title={t('terminal.none')} text={t('terminal.none.text')} />
          <Button icon="terminal" onClick={() => void terminals.open()}>
            {t('terminal.new')}
          </Button>
        </>
      )}
    </div>
  )
}

export const TerminalDock = () => {
  const { layout } = useShell()
  const { transcript: chat, choices } = useChat()
  const workspaces = useWorkspaces()
  const terminals = useTerminals()
  const { height, resize } = useHeight()
  const { pane } = useApp()
  const dock = useRef<HTMLElement>(null)
  // Who closes it while writing in it goes on writing the message.
  useLayoutEffect(
    () => () => {
      if (dock.current?.contains(document.activeElement)) pane.focusComposer()
    },
    [],
  )
  const ask = () => layout.setDock('asked')
  const hide = () => layout.setDock('closed')
  const folder =
    chat.details.value?.workspace || choices.choice.value.workspace || workspaces.last.value
  return (
    <section
      class="dock"
      ref={dock}
      aria-label={tw('panel.terminal')}
      style={`--dock: ${height}px`}
    >
      <Divider
        edge="top"
        label={t('terminal.resize')}
        width={height}
        min={DOCK_MIN}
        max={DOCK_MAX}
        onResize={resize}
        onReset={() => resize(DOCK_DEFAULT)}
        onCollapse={hide}
      />
      <div class="terminal-head">
        {terminals && terminals.list.value.length > 0 ? (
          <ul class="terminal-list" aria-label={t('terminal.list')}>
            {terminals.list.value.map((terminal, index) => (
              <Row
                key={terminal.terminal_id}
                terminals={terminals}
                terminal={terminal}
                number={index + 1}
              />
            ))}
          </ul>
        ) : (
          <h2 class="terminal-title">{tw('panel.terminal')}</h2>
        )}
        <span class="terminal-place" dir="auto" title={visibleName(folder)}>
          {visibleName(workspaces.nameOf(folder))}
        </span>
        <IconButton
          icon="plus"
          size={16}
          label={t('terminal.new')}
          disabled={terminals?.isOpening.value ?? false}
          onClick={() => (terminals ? void terminals.open() : ask())}
        />
        <IconButton
          icon="close"
          size={16}
          label={t('terminal.hide')}
          keys={formatKeys('ctrl+`', layout.mac)}
          onClick={hide}
        />
      </div>
      {terminals ? (
        <Shells terminals={terminals} />
      ) : (
        <div class="panel-blank">
          <Blank title={t('terminal.none')} text={t('terminal.none.text')} />
          <Button icon="terminal" onClick={ask}>
            {t('terminal.new')}
          </Button>
        </div>
      )}
    </section>
  )
}
