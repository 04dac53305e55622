// Greets each avatar that comes near, once for each visit.
// Put it into an object beside an entrance.

float RANGE = 10.0;  // metres
float PERIOD = 3.0;  // seconds between two looks around

list present;        // avatars that were near at the last look

default
{
    state_entry()
    {
        llSensorRepeat("", NULL_KEY, AGENT, RANGE, PI, PERIOD);
    }

    sensor(integer count)
    {
        list near;
        integer i;
        for (i = 0; i < count; ++i)
        {
            key avatar = llDetectedKey(i);
            near += avatar;
            if (llListFindList(present, [avatar]) == -1)
            {
                llRegionSayTo(avatar, 0, "Welcome, " + llDetectedName(i) + "!");
            }
        }
        present = near;
    }

    no_sensor()
    {
        present = [];
    }
}
