/** In the opened summary of a turn: the files before and after it. */
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import type { TurnChange } from '../workspace/turn-changes.ts'
import { showFilesOfTurn } from './open-past.ts'
import { t } from './strings.ts'

export function TurnTimes({ change }: { change: TurnChange }) {
  const app = useApp()
  return (
    <p class="past-turns">
      {(['before', 'after'] as const).map(point => (
        <button
          key={point}
          type="button"
          class="past-open"
          onClick={() => showFilesOfTurn(app, change, point)}
        >
          <Icon name="clock" size={14} /> {t(`turn.${point}`)}
        </button>
      ))}
    </p>
  )
}
