/** Background processes of the session: one line, expandable to their output and a stop button. */
import { useSignal } from '@preact/signals'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'

import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { TerminalText } from '../tool-calls/terminal-text.tsx'
import type { Process } from '../workspace/processes.ts'
import { t } from '../workspace/turn-changes-strings.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { useWorkspacePanel } from './context.ts'

const ProcessOutput = ({ process }: { process: Process }) => {
  const { processes: background } = useWorkspacePanel()
  const log = background.logs.value.get(process.process_id)
  if (!log || log.state === 'loading') return null
  if (log.state === 'failed') return <p class="panel-note">{t('program.failed')}</p>
  if (!log.text.trim()) return <p class="panel-note">{t('program.quiet')}</p>
  return (
    <TerminalText text={log.text} label={t('program.log', { command: process.command })} live />
  )
}

const ProcessView = ({ process }: { process: Process }) => {
  const { processes: background } = useWorkspacePanel()
  const { process_id, command, status, exit_code, started_at } = process
  const isOpen = background.logs.value.has(process_id)
  const isRunning = status === 'running'
  const about = isRunning
    ? t('program.running', { when: formatFull(started_at) })
    : t('program.ended', { code: exit_code ?? 0 })
  return (
    <li class="program">
      <div class="change-line">
        <button
          type="button"
          class="change-head"
          aria-expanded={isOpen}
          title={visibleText(command)}
          onClick={() => background.toggleLog(process_id)}
        >
          <span
            class={`program-dot ${isRunning ? 'program-on' : exit_code === 0 ? '' : 'program-bad'}`}
            role="img"
            aria-label={about}
            title={about}
          />
          <span class="program-command">{visibleName(command.split('\n')[0] ?? '')}</span>
        </button>
        {isRunning && (
          <IconButton
            class="change-open"
            icon="stop"
            asks="POST /api/process/kill"
            size={14}
            label={t('program.stop', { command })}
            onClick={() => void background.kill(process)}
          />
        )}
      </div>
      {isOpen && (
        <div class="program-log">
          <p class="panel-note">{about}</p>
          <ProcessOutput process={process} />
          {isRunning && (
            <Button
              asks="POST /api/process/kill"
              icon="stop"
              onClick={() => void background.kill(process)}
            >
              {t('program.stop.short')}
            </Button>
          )}
        </div>
      )}
    </li>
  )
}

export const ProcessesView = () => {
  const { processes: background } = useWorkspacePanel()
  const isOpen = useSignal(false)
  const list = background.list.value
  if (list.length === 0) return null
  const { value: count } = background.running
  return (
    <section class="programs">
      <button
        type="button"
        class="change-head programs-head"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <Icon name="terminal" size={14} />
        <span>{t('programs')}</span>
        <span class="change-dir">
          {count > 0 ? t('programs.running', { count }) : t('programs.none')}
        </span>
        <Icon name={isOpen.value ? 'chevron-down' : 'chevron-up'} size={14} />
      </button>
      {isOpen.value && (
        <ul>
          {list.toReversed().map(process => (
            <ProcessView key={process.process_id} process={process} />
          ))}
        </ul>
      )}
    </section>
  )
}
