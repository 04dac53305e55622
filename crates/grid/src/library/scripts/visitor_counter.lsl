// Counts the different avatars that come near, and shows their number above the object.
// A touch by the owner begins anew.

float RANGE = 20.0;          // metres
float PERIOD = 5.0;          // seconds between two looks around
integer VISITORS_MAX = 500;  // a script has little memory

list visitors;

show()
{
    llSetText("Visitors: " + (string)llGetListLength(visitors), <1.0, 1.0, 1.0>, 1.0);
}

default
{
    state_entry()
    {
        show();
        llSensorRepeat("", NULL_KEY, AGENT, RANGE, PI, PERIOD);
    }

    sensor(integer count)
    {
        integer i;
        for (i = 0; i < count; ++i)
        {
            key visitor = llDetectedKey(i);
            integer is_new = llListFindList(visitors, [visitor]) == -1;
            if (is_new && llGetListLength(visitors) < VISITORS_MAX)
            {
                visitors += visitor;
            }
        }
        show();
    }

    touch_start(integer touches)
    {
        if (llDetectedKey(0) == llGetOwner())
        {
            visitors = [];
            show();
        }
    }
}
