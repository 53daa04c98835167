/** In the place of a view that is on its way. */
import { t } from '../strings/t.ts'

export const Loading = () => (
  <div class="welcome welcome-late" role="status">
    <p>{t('app.loading')}</p>
  </div>
)
