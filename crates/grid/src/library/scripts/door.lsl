// Opens a door on touch, and closes it after a while.
// The prim turns about its middle. Cut it in half, as the Door of the Library is, and the middle is the hinge.

float ANGLE = 90.0;   // degrees
float OPEN_S = 15.0;  // seconds until it closes; 0 leaves it open

integer is_open = FALSE;

turn(float degrees)
{
    rotation swing = llEuler2Rot(<0.0, 0.0, degrees * DEG_TO_RAD>);
    llSetLocalRot(swing * llGetLocalRot());
}

toggle()
{
    if (is_open)
    {
        turn(-ANGLE);
        llSetTimerEvent(0.0);
    }
    else
    {
        turn(ANGLE);
        llSetTimerEvent(OPEN_S);
    }
    is_open = !is_open;
}

default
{
    touch_start(integer touches)
    {
        toggle();
    }

    timer()
    {
        toggle();
    }
}
