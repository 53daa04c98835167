/** The Terminal tab: the session's terminals and the screen of one. */
import { useEffect } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import { useWorkspacePanel } from './context.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from '../terminal/strings.ts'
import { TerminalScreen } from '../terminal/terminal-screen.tsx'
import type { Terminal, Terminals } from '../terminal/terminals.ts'

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
  const isShown = terminals.shown.value?.terminal_id === terminal_id
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
        onClick={() => terminals.close(terminal)}
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

export const TerminalView = () => {
  const { terminals } = useWorkspacePanel()
  useEffect(() => void terminals.show(), [terminals])

  const { state, problem, list, shown, isOpening } = terminals
  const open = () => void terminals.open()
  if (state.value === 'failed')
    return (
      <div class="panel-blank" role="alert">
        <p>{t('terminal.failed')}</p>
        <Button icon="refresh" onClick={() => void terminals.load()}>
          {t('list.retry')}
        </Button>
      </div>
    )
  if (list.value.length === 0) {
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
            <Button icon="terminal" onClick={open}>
              {t('terminal.new')}
            </Button>
          </>
        )}
      </div>
    )
  }
  return (
    <div class="terminal-view">
      <div class="terminal-head">
        <ul class="terminal-list" aria-label={t('terminal.list')}>
          {list.value.map((terminal, index) => (
            <Row
              key={terminal.terminal_id}
              terminals={terminals}
              terminal={terminal}
              number={index + 1}
            />
          ))}
        </ul>
        <IconButton
          icon="plus"
          size={16}
          label={t('terminal.new')}
          disabled={isOpening.value}
          onClick={open}
        />
      </div>
      {shown.value && (
        <TerminalScreen
          key={shown.value.terminal_id}
          terminal={shown.value}
          terminals={terminals}
        />
      )}
    </div>
  )
}
