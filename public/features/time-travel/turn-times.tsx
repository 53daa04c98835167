/** In the opened summary of a turn: the files before and after it, and its replay. */
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import type { TurnChange } from '../workspace/turn-changes.ts'
import { showFilesOfTurn } from './open-past.ts'
import { t } from './strings.ts'

/** `first`: the id of the first message of the turn. */
export function TurnTimes({ change, first }: { change: TurnChange | null; first: string | null }) {
  const app = useApp()
  return (
    <p class="past-turns">
      {change &&
        (['before', 'after'] as const).map(point => (
          <button
            key={point}
            type="button"
            class="past-open"
            onClick={() => showFilesOfTurn(app, change, point)}
          >
            <Icon name="clock" size={14} /> {t(`turn.${point}`)}
          </button>
        ))}
      <button
        type="button"
        class="past-open"
        onClick={() => {
          app.layout.replay.value = { session: app.chat.chat.peek().sessionId, from: first }
        }}
      >
        <Icon name="play" size={14} /> {t('turn.replay')}
      </button>
    </p>
  )
}
