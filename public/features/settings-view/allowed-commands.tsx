/** The "always allow" rules of the profile, and removing them. */
import { useLoaded } from '../shell/use-loaded.ts'
import { formatFull } from '../../parts/relative-time.ts'
import type { Api } from '../../../router.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { t } from '../settings/strings.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { useShell } from '../../contexts.ts'

type Grant = Api['GET /api/approval/grants']['output']['grants'][number]

const whereOf = ({ scope, cwd }: Grant): string =>
  scope === 'profile'
    ? t('allowed.profile')
    : t(scope === 'workspace' ? 'allowed.workspace' : 'allowed.folder', {
        folder: visibleText(cwd),
      })

const whatOf = ({ command, any }: Grant): string => {
  const what = visibleText(command)
  return any ? t(`allowed.any.${any}`, { what }) : what
}

export const AllowedCommands = () => {
  const { attempt, api } = useShell()
  const [grants, load] = useLoaded(() => api('GET /api/approval/grants'))

  const remove = async (id: string) => {
    await attempt(() => api('POST /api/approval/grants/revoke', { id }))
    await load()
  }

  const all = grants.value?.grants ?? []
  if (all.length === 0) return null
  return (
    <Section title={t('allowed.title')} lead={t('allowed.text')}>
      {all.toReversed().map(grant => (
        <Row
          key={grant.id}
          label={
            <code dir="ltr" class="allowed-rule">
              {whatOf(grant)}
            </code>
          }
          hint={t('allowed.hint', {
            where: whereOf(grant),
            time: formatFull(grant.granted_at),
          })}
          control={ids => (
            <Button
              id={ids.control}
              aria-label={t('allowed.remove.what', { rule: whatOf(grant) })}
              onClick={() => void remove(grant.id)}
            >
              {t('allowed.remove')}
            </Button>
          )}
        />
      ))}
    </Section>
  )
}
