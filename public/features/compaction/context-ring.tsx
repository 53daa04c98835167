/** How full the model's context is, as a ring: blue under 50 percent, yellow to 75, red above. */
import { levelOf } from './context-ring-level.ts'

const RADIUS = 6.5
const AROUND = 2 * Math.PI * RADIUS

export const ContextRing = ({ percent }: { percent: number }) => (
  <svg class={`ring ring-${levelOf(percent)}`} viewBox="0 0 18 18" aria-hidden="true">
    <circle class="ring-track" cx="9" cy="9" r={RADIUS} />
    <circle
      class="ring-value"
      cx="9"
      cy="9"
      r={RADIUS}
      transform="rotate(-90 9 9)"
      stroke-dasharray={`${(Math.min(100, percent) / 100) * AROUND} ${AROUND}`}
    />
  </svg>
)
