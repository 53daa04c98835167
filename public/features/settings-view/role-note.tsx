/** Instead of a section that only owners change: what the person may do here, and what they can change. */
import { useSettings, useShell } from '../../contexts.ts'
import { openSections } from './sections.ts'
import { t } from '../settings/strings.ts'

export const RoleNote = () => {
  const { route } = useShell()
  const { person } = useSettings()
  if (!person.value || person.value.role === 'owner') return null
  const { role, profiles } = person.value
  return (
    <>
      <p class="view-lead">{t('settings.owner')}</p>
      <p>{profiles?.length ? t(`settings.role.${role}`, { profiles }) : t('settings.role.none')}</p>
      <p>{t('settings.role.yours')}</p>
      <ul class="settings-yours">
        {openSections().map(name => (
          <li key={name}>
            <a href={route.hrefOf({ view: 'settings', section: name })}>{t(`settings.${name}`)}</a>
          </li>
        ))}
      </ul>
    </>
  )
}
